"""Messages of Protocol Buffers, out of a `FileDescriptorSet` as `protoc --descriptor_set_out` writes it, or of sources.

wire         bytes to numbered fields
descriptors  files, messages, fields and enumerations, as far as they matter here
tokens       the words of .proto files
source       what .proto files declare
mapping      what JSON the fields of messages are written as
generating   the files, one for each package

The schemas take what parsers of the JSON mapping take: https://protobuf.dev/programming-guides/json/
"""

from __future__ import annotations

from kcl.tools.imports.protobuf.descriptors import DescriptorSet
from kcl.tools.imports.protobuf.generating import generate, is_descriptor_set

__all__ = ["DescriptorSet", "generate", "is_descriptor_set"]
