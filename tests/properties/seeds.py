"""Programs that mutations begin with: small, whole, and between them most of the language."""

SEEDS = (
    """\
import math
schema Base:
    name: str
    labels?: {str:str} = {app = name}
    [key: str]: any

schema Server[replicas](Base):
    mixin [NamedMixin]
    count: int = replicas if replicas else 1
    ports: [int] = [p for p in [80, 443] if p > 100]
    if count > 1:
        spread = True
    check:
        count < 10 if count, "too many"

schema NamedMixin:
    full: str = "${name}-x"

f = lambda a: int, b = 2 -> int {
    c = a + b
    c * 2
}
base = {a.b.c = 1, "k" = [1, *[2]], if True: x = 1}
s: Server(2) {
    name = "web"
    ports += [8080]
    labels: {tier = "front", **{more = "y"}}
}
t = s | {count = f(1)}
u = [x for x in range(3) if all y in [1] { y > 0 }]
v = \"\"\"
    text ${math.floor(1.5)}
    \"\"\"
""",
    """\
import regex
import yaml
type Size = "s" | "m" | 1 | 2.0
schema A:
    size: Size = "s"
    "quoted"?: int | str
protocol PProtocol:
    x: int
mixin MMixin for PProtocol:
    y: int = x
rule R[limit]:
    limit > 1, "small"
_v = [1, 2]
_v += [3]
if len(_v) > 2:
    _big = True
elif not _v:
    _big = False
else:
    _big = None
d = {"${k}-x": v for k, v in {a = 1, b = 2}}
e = yaml.decode("a: [1, 2]")?.a?[0]
g = regex.match("abc", "^a.c$") and 1 in _v or 2 not in _v
h = "{} {x}".format(1, x=str(1Ki)) if g is not None else r'\\d'
""",
)
