"""How diagnostics look: the layout users of the official compiler know."""

import pytest

from kcl.diagnostics import Code, Diagnostic, KclError, Label, Position, Severity, Span, error, position, render

TEXT = 'a = 1\nschema Data:\n    name: str\n\tx = "é" + y\n' + "\n" * 6 + "last = 2"


def span_of(word: str) -> Span:
    start = TEXT.index(word)
    return Span("main.k", start, start + len(word))


def test_a_diagnostic_names_kind_place_line_and_message() -> None:
    finding = error(Code.TYPE, "expected int, got str", span_of("name"))
    assert render([finding], {"main.k": TEXT}) == (
        "error[E2G22]: TypeError\n --> main.k:3:5\n  |\n3 |     name: str\n  |     ^ expected int, got str\n  |\n"
    )


def test_the_gutter_is_as_wide_as_the_line_number() -> None:
    finding = error(Code.COMPILE, "name 'last' is not defined", span_of("last"))
    assert render([finding], {"main.k": TEXT}) == (
        "error[E2L23]: CompileError\n  --> main.k:11:1\n   |\n11 | last = 2\n   | ^ name 'last' is not defined\n   |\n"
    )


def test_labels_notes_and_suggestions_follow_in_this_order() -> None:
    finding = error(
        Code.IMMUTABLE,
        "Can not change the value of 'a', because it was declared immutable",
        span_of("last"),
        labels=(Label(span_of("a = 1"), "The variable 'a' is declared here"),),
        notes=("change the variable name to '_a' to make it mutable",),
        suggestions=("rename it",),
    )
    assert render([finding], {"main.k": TEXT}).splitlines()[6:] == [
        "",
        " --> main.k:1:1",
        "  |",
        "1 | a = 1",
        "  | ^ The variable 'a' is declared here",
        "  |",
        "note: change the variable name to '_a' to make it mutable",
        "suggestion: rename it",
    ]


def test_the_caret_stands_below_its_character_after_tabs_and_wide_letters() -> None:
    text = "\té漢 = y"
    finding = error(Code.NAME, "here", Span("f.k", text.index("y"), text.index("y") + 1))
    shown = render([finding], {"f.k": text}).splitlines()
    assert shown[1] == " --> f.k:1:7"
    assert shown[4] == "  | " + " " * 6 + "^ here"  # a tab takes no column, the wide letter two


def test_official_columns_show_a_line_where_the_official_compiler_knows_no_more() -> None:
    finding = error(Code.EVALUATION, "Check failed on the condition", span_of("name"), line_only=True)
    official = render([finding], {"main.k": TEXT}, official_columns=True).splitlines()
    assert official[1:5] == [
        " --> main.k:3:1",
        "  |",
        "3 |     name: str",
        "  |  Check failed on the condition",
    ]
    exact = render([finding], {"main.k": TEXT}).splitlines()
    assert exact[1] == " --> main.k:3:5"
    assert exact[4] == "  |     ^ Check failed on the condition"


def test_a_message_of_several_lines_goes_on_without_gutter() -> None:
    finding = error(Code.EVALUATION, "conflicting values between :\n    1\nand\n    2", span_of("name"))
    assert render([finding], {"main.k": TEXT}).splitlines()[4:8] == [
        "  |     ^ conflicting values between :",
        "    1",
        "and",
        "    2",
    ]


def test_a_diagnostic_without_a_place_is_its_message() -> None:
    finding = Diagnostic(Code.EVALUATION, Severity.ERROR, "option 'x' is missing", None)
    assert render([finding], {}) == "error[E3M38]: EvaluationError\noption 'x' is missing\n"


def test_a_file_whose_text_is_not_at_hand_is_still_named() -> None:
    assert " --> gone.k" in render([error(Code.TYPE, "m", Span("gone.k", 3, 4))], {})


def test_nothing_to_say_renders_as_nothing() -> None:
    assert render([], {}) == ""


@pytest.mark.parametrize(
    ("offset", "place"),
    [
        (0, Position(1, 1)),
        (5, Position(1, 6)),
        (6, Position(2, 1)),
        (len(TEXT), Position(11, 9)),
        (10_000, Position(11, 9)),
    ],
)
def test_positions_count_from_one(offset: int, place: Position) -> None:
    assert position(TEXT, offset) == place


def test_an_error_carries_its_diagnostics_and_reads_as_their_messages() -> None:
    findings = (error(Code.TYPE, "first", None), error(Code.NAME, "second", None))
    failure = KclError(findings)
    assert failure.diagnostics == findings
    assert str(failure) == "first; second"
