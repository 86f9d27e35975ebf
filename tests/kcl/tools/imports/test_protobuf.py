"""Protocol Buffers: what is made takes what parsers of the JSON mapping take, with google.protobuf as the oracle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format

from kcl.api import ParseCache
from kcl.tools.imports.literals import value as literal
from kcl.tools.imports.protobuf import descriptors, source
from tests.kcl.tools.imports.importing import imported, ours, theirs

_SHOP = """
name: "shop.proto" package: "acme.shop" syntax: "proto3"
dependency: "google/protobuf/timestamp.proto" dependency: "google/protobuf/duration.proto"
dependency: "google/protobuf/struct.proto" dependency: "google/protobuf/wrappers.proto"
dependency: "google/protobuf/empty.proto" dependency: "google/protobuf/any.proto" dependency: "old.proto"
message_type { name: "Order"
  field { name: "small" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
  field { name: "count" number: 2 label: LABEL_OPTIONAL type: TYPE_UINT32 }
  field { name: "large_id" number: 3 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "hash" number: 4 label: LABEL_OPTIONAL type: TYPE_FIXED64 }
  field { name: "ratio" number: 5 label: LABEL_OPTIONAL type: TYPE_FLOAT }
  field { name: "amount" number: 6 label: LABEL_OPTIONAL type: TYPE_DOUBLE }
  field { name: "paid" number: 7 label: LABEL_OPTIONAL type: TYPE_BOOL }
  field { name: "type" number: 8 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "token_bytes" number: 9 label: LABEL_OPTIONAL type: TYPE_BYTES }
  field { name: "color" number: 10 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".acme.shop.Color" }
  field { name: "line" number: 11 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".acme.shop.Order.Line" }
  field { name: "parent" number: 12 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".acme.shop.Order" }
  field { name: "numbers" number: 13 label: LABEL_REPEATED type: TYPE_SINT64 }
  field { name: "lines" number: 14 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".acme.shop.Order.Line" }
  field { name: "labels" number: 15 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".acme.shop.Order.LabelsEntry" }
  field { name: "sizes" number: 16 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".acme.shop.Order.SizesEntry" }
  field { name: "at" number: 17 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" }
  field { name: "lasts" number: 18 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Duration" }
  field { name: "extra" number: 19 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Struct" }
  field { name: "anything" number: 20 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Value" }
  field { name: "list" number: 21 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.ListValue" }
  field { name: "maybe" number: 22 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.UInt64Value" }
  field { name: "nothing" number: 23 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Empty" }
  field { name: "values" number: 24 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".google.protobuf.Value" }
  field { name: "old" number: 25 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".acme.old.Item" }
  field { name: "bare" number: 26 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".acme.shop.Bare" }
  field { name: "flags" number: 27 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".acme.shop.Order.FlagsEntry" }
  field { name: "colors" number: 28 label: LABEL_REPEATED type: TYPE_ENUM type_name: ".acme.shop.Color" }
  field { name: "card" number: 30 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
  field { name: "cash" number: 31 label: LABEL_OPTIONAL type: TYPE_INT32 oneof_index: 0 }
  field { name: "note" number: 32 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 1 proto3_optional: true }
  nested_type { name: "Line"
    field { name: "value" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
    field { name: "len" number: 2 label: LABEL_REPEATED type: TYPE_BYTES } }
  nested_type { name: "LabelsEntry" options { map_entry: true }
    field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING } }
  nested_type { name: "SizesEntry" options { map_entry: true }
    field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_UINT32 }
    field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".acme.shop.Order.Line" } }
  nested_type { name: "FlagsEntry" options { map_entry: true }
    field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_BOOL }
    field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_BOOL } }
  oneof_decl { name: "payment" } oneof_decl { name: "_note" }
}
message_type { name: "Bare" }
enum_type { name: "Color" value { name: "RED" number: 0 } value { name: "GREEN" number: 7 } }
service { name: "Shop" method { name: "Buy" input_type: ".acme.shop.Order" output_type: ".acme.shop.Order" } }
source_code_info {
  location { path: 4 path: 0 span: 1 span: 0 span: 9 leading_comments: " What somebody buys.\\n" }
  location { path: 4 path: 0 path: 2 path: 0 span: 2 span: 0 span: 9 trailing_comments: " A \\"small\\" number.\\n" }
}
"""
_OLD = """
name: "old.proto" package: "acme.old" syntax: "proto2"
message_type { name: "Item"
  field { name: "id" number: 1 label: LABEL_REQUIRED type: TYPE_INT32 }
  field { name: "kind" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".acme.old.Kind"
    default_value: "TWO" }
  field { name: "size" number: 3 label: LABEL_OPTIONAL type: TYPE_INT64 default_value: "-9223372036854775808" }
  field { name: "raw" number: 4 label: LABEL_OPTIONAL type: TYPE_BYTES default_value: "a\\\\001\\\\n" }
  field { name: "limit" number: 5 label: LABEL_OPTIONAL type: TYPE_DOUBLE default_value: "inf" }
  field { name: "on" number: 6 label: LABEL_OPTIONAL type: TYPE_BOOL default_value: "true" }
  extension_range { start: 100 end: 200 } }
enum_type { name: "Kind" value { name: "ONE" number: 1 } value { name: "TWO" number: 2 } }
"""
_SHOP_SOURCE = """
// The license, which is about no message.

syntax = "proto3";
package acme.shop;
import "google/protobuf/timestamp.proto"; import public "old.proto";
option java_package = "com" ".acme";
option (acme.own).deep = { a: 1 b { c: ";}" } };

// What somebody buys.
message Order {
  int32 small = 1;  // A "small" number.
  uint32 count = 2;
  int64 large_id = 3;
  fixed64 hash = 4;
  float ratio = 5;
  double amount = 6;
  bool paid = 7;
  string type = 8 [(acme.own) = "]", deprecated = false];
  bytes token_bytes = 9;
  Color color = 10;
  Line line = 11;
  shop.Order parent = 12;
  repeated sint64 numbers = 13 [packed = true];
  repeated Order.Line lines = 14;
  map<string, string> labels = 15;
  map < uint32 , Line > sizes = 0x10;
  google.protobuf.Timestamp at = 17;
  google.protobuf.Duration lasts = 18;
  google.protobuf.Struct extra = 19;
  google.protobuf.Value anything = 20;
  google.protobuf.ListValue list = 21;
  google.protobuf.UInt64Value maybe = 22;
  google.protobuf.Empty nothing = 23;
  repeated google.protobuf.Value values = 24;
  .acme.old.Item old = 25;
  Bare bare = 26;
  map<bool, bool> flags = 27;
  repeated .acme.shop.Color colors = 28;
  reserved 40 to max; reserved "message", "x";
  oneof payment { string card = 30; int32 cash = 31; }
  optional string note = 32;
  message Line { int32 value = 1; repeated bytes len = 2; ; }
}
message Bare {}
enum Color { option allow_alias = false; RED = 0; GREEN = 7 [deprecated = true]; reserved 9; }
service Shop { rpc Buy(Order) returns (stream Order) { option deprecated = true; } }
"""
_OLD_SOURCE = """
syntax = "proto2"; package acme.old;
message Item {
  required int32 id = 1;
  optional Kind kind = 2 [default = TWO];
  optional int64 size = 3 [default = -0x8000000000000000];
  optional bytes raw = 4 [default = "a\\001" "\\n"];
  optional double limit = 5 [default = inf];
  optional bool on = 6 [default = true];
  extensions 100 to 199 [declaration = { number: 100 full_name: ".a.b" type: "string" }, verification = DECLARATION];
}
enum Kind { ONE = 1; TWO = 2; }
extend Item { optional int32 more = 100; }
"""
_VALUES: Sequence[Any] = (
    *(None, True, 0, 1, -1, 7, 99, 2**31 - 1, 2**31, -(2**31) - 1, 2**32 - 1, 2**32, 1.5, -2.5e39, 1e300),
    *("", "12", "-12", "-0", "007", " 1", "1.5", "1e3", "abc", "NaN", "-Infinity", "inf", "2147483648"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616"),
    *("YQ==", "YWI", "-_8=", "RED", "GREEN", "BLUE", "true"),
    *(
        "2020-02-01T10:00:00Z",
        "2020-02-01T10:00:00.123+01:00",
        "2020-13-01T00:00:00Z",
        "2020-02-01",
        "3s",
        "-1.5s",
        "3m",
    ),
    *([], [1], ["1", -2], ["a"], [None], [{}], [{"value": 3}], [{"value": "x"}], ["RED", 7], [[1], {"a": None}]),
    *({}, {"a": "b"}, {"a": 1}, {"1": {"value": 1}}, {"x": {"value": 1}}, {"1": None}, {"true": True}, {"yes": True}),
    *(
        {"value": 5},
        {"value": 5, "more": 1},
        {"len": ["YQ=="]},
        {"line": {"value": 2}},
        {"id": 1},
        {"id": 1, "kind": "ONE"},
    ),
)


def _files() -> Iterator[descriptor_pb2.FileDescriptorProto]:
    from google.protobuf import any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2

    for module in (timestamp_pb2, duration_pb2, struct_pb2, wrappers_pb2, empty_pb2, any_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        yield file
    for text in (_OLD, _SHOP):
        yield text_format.Parse(text, descriptor_pb2.FileDescriptorProto())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package that is made of both files."""
    folder = tmp_path_factory.mktemp("protobuf")
    (folder / "shop.binpb").write_bytes(_set(_files()))
    ran = imported(folder, "shop.binpb")
    assert ran.status == 0, ran.err
    assert ran.out.splitlines() == ["./models/acme/old/old.k", "./models/acme/shop/shop.k", "./models/kcl.mod"]
    assert "nothing is made of services: acme.shop.Shop" in ran.err
    return folder


def _set(files: Iterator[descriptor_pb2.FileDescriptorProto]) -> bytes:
    return bytes(descriptor_pb2.FileDescriptorSet(file=list(files)).SerializeToString())


def _oracle() -> Any:
    pool = descriptor_pool.DescriptorPool()
    for each in _files():
        pool.Add(each)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("acme.shop.Order"))


def _is_taken(message: Any, value: dict[str, Any]) -> bool:
    found = message()
    try:
        json_format.Parse(json.dumps(value), found)
    except json_format.ParseError:
        return False
    return bool(found.IsInitialized())


def _is_beyond(name: str, value: Any) -> bool:
    """What this parser takes and the mapping does not tell: https://protobuf.dev/programming-guides/json/"""
    match name:
        case "ratio" | "amount":
            return value is True or value in (" 1", "inf")
        case "tokenBytes":
            return isinstance(value, str) and any(each in value for each in ":.")
        case "color" | "colors":
            is_number = isinstance(value, str) and value.strip().lstrip("-").isdigit()
            return is_number or isinstance(value, bool | float) or value in (2**32, ["1", -2])
        case "line" | "parent" | "nothing" | "bare":
            return value in ("", [])
        case _:
            return False


def _program(values: Sequence[dict[str, Any]]) -> str:
    lines = [f"x{at} = shop.Order {literal(each)}" for at, each in enumerate(values)]
    return "\n".join(["import acme.shop", *lines, ""])


def test_both_compilers_decide_as_a_parser_of_the_mapping(folder: Path) -> None:
    message = _oracle()
    fields = [each.json_name for each in message.DESCRIPTOR.fields]
    cases = [{name: value} for name in fields for value in _VALUES]
    cases += [{"card": "x", "cash": 1}, {"card": "x", "note": "y"}, {"unknown": 1}, {"type": "x", "small": 1}]
    cases.remove({"values": None})  # which the mapping takes, and this parser does not
    cases = [each for each in cases if not any(_is_beyond(*item) for item in each.items())]
    verdicts = [_is_taken(message, each) for each in cases]
    taken = [each for each, verdict in zip(cases, verdicts, strict=True) if verdict]
    refused = [each for each, verdict in zip(cases, verdicts, strict=True) if not verdict]
    assert len(taken) > 250 and len(refused) > 1000
    main_file = folder / "models" / "main.k"
    main_file.write_text(_program(taken))
    assert ours([main_file], folder / "models", {}) == ""
    assert theirs([main_file], folder / "models", {}) == ""
    cache, wrong = ParseCache(), []
    for at, each in enumerate(refused[::3]):
        main_file.write_text(_program([each]))
        if not ours([main_file], folder / "models", {}, cache):
            wrong.append(each)
        elif at % 20 == 0 and not theirs([main_file], folder / "models", {}):
            wrong.append({"theirs": each})
    assert wrong == []


def test_names_docs_and_defaults_are_those_of_the_messages(folder: Path) -> None:
    shop, old = (folder / "models/acme" / name for name in ("shop/shop.k", "old/old.k"))
    text = shop.read_text()
    assert "import acme.old as acme_old_pb\n" in text
    assert "    What somebody buys.\n" in text and '        A "small" number.\n' in text
    for line in ("$type?: str", "old?: acme_old_pb.Item", "lines?: [OrderLine]", "sizes?: {str:OrderLine}"):
        assert f"\n    {line}\n" in text
    assert '\n    color?: "RED" | "GREEN" | int\n' in text
    text = old.read_text()
    for line in ("id: int | str", 'kind?: "ONE" | "TWO" | 1 | 2 = "TWO"', 'size?: int | str = "-9223372036854775808"'):
        assert f"\n    {line}\n" in text
    for line in ('raw?: str = "YQEK"', 'limit?: float | str = "Infinity"', "on?: bool = True"):
        assert f"\n    {line}\n" in text


def test_defaults_and_extensions_in_both_compilers(folder: Path) -> None:
    main_file = folder / "models" / "main.k"
    main_file.write_text('import acme.old\na = old.Item {id = 1}\nb = old.Item {id = 1, "[acme.x.ext]" = 5}\n')
    assert ours([main_file], folder / "models", {}) == theirs([main_file], folder / "models", {}) == ""
    for wrong in ("id = 1, ext = 5", 'id = "many"'):  # the second has no name that is not listed
        main_file.write_text(f"import acme.old\na = old.Item {{{wrong}}}\n")
        for compiler in (ours, theirs):
            assert compiler([main_file], folder / "models", {}) != "", wrong


def test_the_same_set_gives_the_same_bytes_and_any_name_of_a_file_will_do(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "set.bin").write_bytes((folder / "shop.binpb").read_bytes())
    assert imported(tmp_path, "-m", "protobuf", "-q", "set.bin").status == 0
    for name in ("old/old.k", "shop/shop.k"):
        assert (tmp_path / "models/acme" / name).read_bytes() == (folder / "models/acme" / name).read_bytes()


def _one(text: str) -> bytes:
    return _set(iter([text_format.Parse(text, descriptor_pb2.FileDescriptorProto())]))


def test_editions_are_told_apart(tmp_path: Path) -> None:
    """Open enumerations and no required fields, unless the features of a file, a message or a field say otherwise."""
    text = (
        'name: "a.proto" package: "a" syntax: "editions" edition: EDITION_2023 %s'
        'message_type { name: "M" field { name: "must" number: 1 label: LABEL_OPTIONAL type: TYPE_BOOL '
        "options { features { field_presence: LEGACY_REQUIRED } } }"
        'field { name: "e" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".a.E" } }'
        'enum_type { name: "E" value { name: "A" number: 0 } value { name: "B" number: 1 } %s }'
    )
    closed = "options { features { enum_type: CLOSED } }"
    for at, (file, enum, expected) in enumerate(
        [("", "", '"A" | "B" | int'), (closed, "", '"A" | "B" | 0 | 1'), ("", closed, '"A" | "B" | 0 | 1')]
    ):
        (tmp_path / "a.pb").write_bytes(_one(text % (file, enum)))
        assert imported(tmp_path, "-p", f"m{at}", "a.pb").status == 0
        made = (tmp_path / f"m{at}/a/a.k").read_text()
        assert f"\n    e?: {expected}\n" in made and "\n    must: bool\n" in made


def test_packages_that_need_each_other_become_one(tmp_path: Path) -> None:
    """As packages may, whose files do not; and one that would stand in the way of an import of another."""
    files = [
        'name: "b.proto" package: "b" message_type { name: "In" field { name: "x" number: 1 type: TYPE_BOOL } }',
        'name: "a.proto" package: "a.b" dependency: "b.proto" message_type { name: "M" field { name: "in" number: 1 '
        'type: TYPE_MESSAGE type_name: ".b.In" } }',
        'name: "c.proto" package: "b" dependency: "a.proto" message_type { name: "M" field { name: "m" number: 1 '
        'type: TYPE_MESSAGE type_name: ".a.b.M" } }',
        'name: "d.proto" package: "a" dependency: "c.proto" message_type { name: "Str" field { name: "m" number: 1 '
        'type: TYPE_MESSAGE type_name: ".b.M" } }',
    ]
    parsed = [text_format.Parse(each, descriptor_pb2.FileDescriptorProto()) for each in files]
    (tmp_path / "set.pb").write_bytes(_set(iter(parsed)))
    ran = imported(tmp_path, "set.pb")
    assert ran.status == 0, ran.err
    models = tmp_path / "models"
    (models / "main.k").write_text(
        "import a\nx = a.Str {m.m.$in.x = True}\n".replace("m.m.$in.x = True", 'm = {m = {"in" = {x = True}}}')
    )
    assert ours([models / "main.k"], models, {}) == theirs([models / "main.k"], models, {}) == ""
    assert "schema BIn:" in (models / "a/b/b.k").read_text()


def _varied(raw: bytes) -> Iterator[bytes]:
    yield from (raw[:size] for size in range(1, len(raw), 37))
    yield from (raw[:at] + bytes([raw[at] ^ 0x55]) + raw[at + 1 :] for at in range(0, min(len(raw), 4000), 29))


def test_what_is_no_descriptor_set_is_refused_and_nothing_written(folder: Path, tmp_path: Path) -> None:
    raw = _set(_files())
    for data in (b"", b"{}", b"\x0a\x03abc", b"\xff" * 40, raw[:-9], (folder / "models/acme/old/old.k").read_bytes()):
        (tmp_path / "a.pb").write_bytes(data)
        ran = imported(tmp_path, "a.pb")
        assert ran.status == 1 and ran.err.startswith("kcl import: a.pb: is ") and ran.out == ""
        assert not (tmp_path / "models").exists()
    for data in _varied(raw):
        (tmp_path / "a.pb").write_bytes(data)
        assert imported(tmp_path, "-f", "a.pb").status in (0, 1)


def test_what_a_set_lacks_is_named(tmp_path: Path) -> None:
    lacking = (
        'name: "a.proto" message_type { name: "M" field { name: "m" number: 1 type: TYPE_MESSAGE type_name: ".b.M" } }'
    )
    (tmp_path / "a.pb").write_bytes(_one(lacking))
    ran = imported(tmp_path, "a.pb")
    assert ran.status == 1 and "M.m: b.M is not in the set: make it with `protoc --include_imports`" in ran.err
    (tmp_path / "a.pb").write_bytes(_one('name: "a.proto" enum_type { name: "E" value { name: "A" number: 0 } }'))
    assert "declares no message" in imported(tmp_path, "a.pb").err


def test_sources_declare_what_protoc_makes_of_them() -> None:
    made = descriptors.read(_set(_files()), "shop.binpb")
    found = source.resolved([source.read(_SHOP_SOURCE, "shop.proto"), source.read(_OLD_SOURCE, "old.proto")])
    assert found.services == made.services == ["acme.shop.Shop"]
    assert found.enums == {name: each for name, each in made.enums.items() if name.startswith(".acme.")}
    expected = {name: each for name, each in made.messages.items() if name.startswith(".acme.")}
    assert found.messages.keys() == expected.keys()
    for name, each in found.messages.items():
        assert sorted(map(str, each.fields)) == sorted(map(str, expected[name].fields))
        assert (each.package, each.is_map_entry, each.has_extensions, each.description) == (
            expected[name].package,
            expected[name].is_map_entry,
            expected[name].has_extensions,
            expected[name].description,
        )


def test_sources_give_the_files_that_descriptors_give(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "protos").mkdir()
    (tmp_path / "protos/shop.proto").write_text(_SHOP_SOURCE)
    (tmp_path / "protos/old.proto").write_text(_OLD_SOURCE)
    assert imported(tmp_path, "-m", "protobuf", "protos").status == 0
    assert imported(tmp_path, "-f", "protos/old.proto", "protos/shop.proto").status == 0
    for name in ("old/old.k", "shop/shop.k"):
        assert (tmp_path / "models/acme" / name).read_text() == (folder / "models/acme" / name).read_text()
    ran = imported(tmp_path, "-p", "alone", "protos/shop.proto")
    assert ran.status == 1 and "shop.proto:36: .acme.old.Item is in none of the files that were named" in ran.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('syntax = "proto4";', "1: the syntax 'proto4' is not known"),
        ("message M {\n  int32 a = ;\n}", "2: the number of a field is expected, not ';'"),
        ("message M {\n  int32 a = 1;", "2: a field is expected"),
        ("message M { map<float, int32> a = 1; }", "M.AEntry: is no entry of a map"),
        ("message M {}\nmessage M {}", "M is declared twice"),
        ("message M { X x = 1; }", "1: X is in none of the files"),
        ("edition = '2023'; message M {} option features.enum_type = CLOSED;", "1: features are expected before"),
        ("edition = '2023'; option features = { enum_type: CLOSED };", "1: features one by one are expected"),
        ("messages M {}", "1: 'messages' begins no declaration"),
        ('message M { string a = 1 [default = "x];\n}', "1: "),
        ("/* message M {}", "is nothing that .proto files hold"),
    ],
)
def test_a_source_that_is_not_understood_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text(text)
    ran = imported(tmp_path, "a.proto")
    assert ran.status == 1 and ran.err.startswith("kcl import: a.proto:") and said in ran.err
    assert not (tmp_path / "models").exists()


def test_features_of_an_edition_hold_for_what_is_within(tmp_path: Path) -> None:
    text = """edition = "2023";
package e;
option features.enum_type = CLOSED;
enum Shut { A = 0; B = 1; }
message M {
  option features.field_presence = LEGACY_REQUIRED;
  enum Open { option features.enum_type = OPEN; C = 0; D = 1; }
  Shut shut = 1;
  Open open = 2 [features.field_presence = EXPLICIT, json_name = "o-p"];
}
"""
    (tmp_path / "e.proto").write_text(text)
    assert imported(tmp_path, "e.proto").status == 0
    made = (tmp_path / "models/e/e.k").read_text()
    assert '\n    shut: "A" | "B" | 0 | 1\n' in made and '\n    "o-p"?: "C" | "D" | int\n' in made


def test_halves_of_a_source_are_refused_or_read(tmp_path: Path) -> None:
    for size in range(0, len(_SHOP_SOURCE), 23):
        for text in (_SHOP_SOURCE[:size], _SHOP_SOURCE[:size] + _SHOP_SOURCE[size + 3 :]):
            (tmp_path / "a.proto").write_text(text)
            assert imported(tmp_path, "-f", "a.proto").status in (0, 1)
