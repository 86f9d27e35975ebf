"""Dataclasses that cost next to nothing to define; for the type checker they are those of the standard library.

The decorator of the standard library writes up to six functions as text for each class, compiles and runs them. For the
150 dataclasses of the language that took 60 ms, four tenths of what it takes to import it, and for the 340 that the
screens load 180 ms; nearly all of these functions are never called. Here comparing, hashing and showing are done by
functions that serve all classes, and the one that pays to be written for a class, `__init__`, is written when its first
instance is made.

Left out is what nobody here uses: `InitVar`, `ClassVar`, `KW_ONLY`, `unsafe_hash`, `match_args`, `weakref_slot`.
Other programs may use `dataclasses.fields`, `replace` and the like on such classes, or derive dataclasses from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import asdict as asdict
    from dataclasses import astuple as astuple
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
    from types import CodeType

    _Shape = tuple[tuple[str, ...], str, bool]

    def learn(codes: dict[_Shape, CodeType]) -> None:
        """Lets be known what `__init__` was compiled to by a process of the same Python."""

    def is_news() -> bool:
        """Whether one was compiled here of which nobody had told."""

    def codes() -> dict[_Shape, CodeType]:
        """All that are known."""
else:
    import operator
    from reprlib import recursive_repr
    from types import CodeType, FunctionType, MemberDescriptorType

    _MISSING = object()
    _RECORD = "__record__"
    """The attribute of a class that holds its fields by name, those of its bases first."""

    class Field:
        """One field of a class."""

        __slots__ = ("compare", "default", "factory", "hash", "init", "name", "repr", "type")

        def __init__(self, default, factory, init=True, repr=True, compare=True, hash=None):
            self.name = self.type = ""
            self.hash = compare if hash is None else hash
            self.default, self.factory, self.init, self.repr, self.compare = default, factory, init, repr, compare

    def field(*, default=_MISSING, default_factory=_MISSING, init=True, repr=True, compare=True, hash=None):
        """As `dataclasses.field`."""
        return Field(default, default_factory, init, repr, compare, hash)

    def dataclass(cls=None, /, *, repr=True, eq=True, order=False, frozen=False, slots=False):
        """As `dataclasses.dataclass`."""

        def defined(cls):
            return _defined(cls, _Parameters(repr, eq, order, frozen, slots))

        return defined if cls is None else defined(cls)

    def fields(of):
        """The fields of a dataclass or an instance; TypeError for anything else."""
        if hasattr(of, _RECORD):
            return tuple(getattr(of, _RECORD).values())
        return _standard().fields(of)

    def is_dataclass(value):
        """Whether it is such a class or an instance of one."""
        return hasattr(value if isinstance(value, type) else type(value), "__dataclass_fields__")

    def _standard():
        """The standard library's, for the dataclasses of others."""
        import dataclasses

        return dataclasses

    def replace(instance, /, **changes):
        """A copy with other values in some fields."""
        if not hasattr(instance, _RECORD):
            return _standard().replace(instance, **changes)
        for name, each in getattr(instance, _RECORD).items():
            if each.init:
                if name not in changes:
                    changes[name] = getattr(instance, name)
            elif name in changes:
                raise ValueError(f"field {name} is declared with init=False, it cannot be specified with replace()")
        return instance.__class__(**changes)

    def astuple(instance):
        """The values of the fields; of dataclasses among them, and in lists, tuples and dicts, the same."""
        return tuple([_as_plain(getattr(instance, name), astuple) for name in _names(instance)])

    def asdict(instance):
        """The values by name of field; of dataclasses among them, and in lists, tuples and dicts, the same."""
        return {name: _as_plain(getattr(instance, name), asdict) for name in _names(instance)}

    def _names(instance):
        return [each.name for each in fields(instance)]

    def _as_plain(value, plain):
        if type(value) in (list, tuple):
            return type(value)([_as_plain(each, plain) for each in value])
        if type(value) is dict:
            return {_as_plain(key, plain): _as_plain(item, plain) for key, item in value.items()}
        return plain(value) if is_dataclass(type(value)) else value

    # --- Defining a class ---

    class _Parameters:
        """What the class was defined with. The standard library asks bases whether they are frozen."""

        __slots__ = ("eq", "frozen", "order", "repr", "slots")

        def __init__(self, repr, eq, order, frozen, slots):
            self.repr, self.eq, self.order, self.frozen, self.slots = repr, eq, order, frozen, slots

    class _StandardFields:
        """The fields as the standard library has them, made when it asks."""

        def __get__(self, instance, owner):
            import dataclasses

            made = {}
            for name, each in getattr(owner, _RECORD).items():
                made[name] = known = dataclasses.field(
                    default=dataclasses.MISSING if each.default is _MISSING else each.default,
                    default_factory=dataclasses.MISSING if each.factory is _MISSING else each.factory,
                    init=each.init,
                    repr=each.repr,
                    compare=each.compare,
                    hash=each.hash,
                    kw_only=False,
                )
                known.name, known.type, known._field_type = name, each.type, dataclasses._FIELD
            return made

    def _defined(cls, parameters):
        own = {name: _own_field(cls, name, of) for name, of in cls.__annotations__.items()}
        record = {}
        for base in reversed(cls.__mro__[1:]):
            record.update(base.__dict__.get(_RECORD, {}))
        record.update(own)
        hash_ = cls.__dict__.get("__hash__")  # None too where the class defines `__eq__` alone
        cls = _with_slots(cls, own) if parameters.slots else _with_defaults(cls, own)
        given = frozenset(cls.__dict__)
        for name, value in _methods(cls, record, parameters).items():
            if name not in given:
                setattr(cls, name, value)
        cls.__init__ = _first_init(cls)
        if parameters.eq and hash_ is None:
            cls.__hash__ = _hash(record) if parameters.frozen else None
        cls.__record__ = record
        cls.__dataclass_fields__ = _StandardFields()
        cls.__dataclass_params__ = parameters
        if hasattr(cls, "__abstractmethods__"):
            from abc import update_abstractmethods

            update_abstractmethods(cls)
        return cls

    def _own_field(cls, name, of):
        given = cls.__dict__.get(name, _MISSING)
        made = given if isinstance(given, Field) else Field(given, _MISSING)
        if made.default is not _MISSING and made.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {type(made.default)} for field {name} is not allowed")
        made.name, made.type = name, of
        return made

    def _with_defaults(cls, own):
        for name, each in own.items():
            if each.default is not _MISSING:
                setattr(cls, name, each.default)
            elif name in cls.__dict__:
                delattr(cls, name)
        return cls

    def _with_slots(cls, own):
        """The same class with slots, which it must have when it is made."""
        inherited = {name for base in cls.__mro__[1:-1] for name in _slots_of(base)}
        namespace = dict(cls.__dict__)
        namespace["__slots__"] = tuple([name for name in own if name not in inherited])
        for name in (*own, "__dict__", "__weakref__"):
            namespace.pop(name, None)
        made = type(cls)(cls.__name__, cls.__bases__, namespace)
        made.__qualname__ = cls.__qualname__
        return made

    def _slots_of(base):
        slots = base.__dict__.get("__slots__", ())
        return (slots,) if isinstance(slots, str) else slots

    # --- What every class has ---

    def _methods(cls, record, parameters):
        made = {"__match_args__": tuple([name for name, each in record.items() if each.init])}
        if parameters.repr:
            made["__repr__"] = _repr(record)
        if parameters.eq:
            made["__eq__"] = _comparing(record, "__eq__")
        if parameters.order:
            made.update({name: _comparing(record, name) for name in ("__lt__", "__le__", "__gt__", "__ge__")})
        if parameters.frozen:
            made["__setattr__"], made["__delattr__"] = _frozen(cls, frozenset(record))
            if parameters.slots:
                made["__getstate__"], made["__setstate__"] = _state, _set_state
        return made

    def _first_init(cls):
        def __init__(self, *args, **kwargs):
            cls.__init__ = _init(cls)
            cls.__init__(self, *args, **kwargs)

        return __init__

    def _init(cls):
        """`__init__` for the fields of a class, as if it were written out for them.

        Compiling it takes a hundred times as long as giving other names to one that is compiled, and of the classes
        that a command uses most are like another but for their names.
        """
        record, frozen = getattr(cls, _RECORD), cls.__dataclass_params__.frozen
        slots = [getattr(cls, name, None) for name in record] if frozen else []
        has_slots = frozen and all(type(each) is MemberDescriptorType for each in slots)
        known = {"_missing": _MISSING, "_put": object.__setattr__}
        names, defaults, kinds = [], [], []
        for name, each in record.items():
            number, has_default = len(names), each.default is not _MISSING
            if each.factory is not _MISSING:
                kinds.append("made" if each.init else "always made")
                known[f"_make{number}"] = each.factory
            elif each.init:
                kinds.append("given")
            elif has_default:
                kinds.append("constant")
                known[f"_default{number}"] = each.default
            else:
                continue
            names.append(name)
            if has_slots:
                known[f"_put{number}"] = getattr(cls, name).__set__
            if each.init and (has_default or each.factory is not _MISSING):
                defaults.append(each.default)  # which is `_MISSING` where there is a factory
            elif each.init and defaults:
                raise TypeError(f"non-default argument {name!r} follows default argument")
        how = "slots" if has_slots else "frozen" if frozen else ""
        code = _named(_init_code(tuple(kinds), how, hasattr(cls, "__post_init__")), names)
        written = FunctionType(code, known, "__init__", tuple(defaults) or None)
        written.__qualname__, written.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        return written

    _init_codes = {}
    """The code of `__init__` by what it does; its fields have numbers for names there."""
    _compiled = set()
    """Those of them that were compiled in this process."""

    def learn(codes):
        _init_codes.update(codes)
        _compiled.difference_update(codes)

    def is_news():
        return bool(_compiled)

    def codes():
        _compiled.clear()
        return dict(_init_codes)

    def _init_code(kinds, how, has_post_init):
        shape = kinds, how, has_post_init
        known = _init_codes.get(shape)
        if known is None:
            parameters, lines = ["_self"], []
            for number, kind in enumerate(kinds):
                name = value = f"_{number}"
                if kind == "made":
                    value = f"{name} if {name} is not _missing else _make{number}()"
                elif kind == "always made":
                    value = f"_make{number}()"
                elif kind == "constant":
                    value = f"_default{number}"
                if kind in ("given", "made"):
                    parameters.append(name)
                if how == "slots":
                    lines.append(f"_put{number}(_self, {value})")
                else:
                    lines.append(f"_put(_self, {name!r}, {value})" if how else f"_self.{name} = {value}")
            if has_post_init:
                lines.append("_self.__post_init__()")
            module = compile(
                f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), "<record>", "exec"
            )
            known = next(each for each in module.co_consts if isinstance(each, CodeType))
            _init_codes[shape] = known
            _compiled.add(shape)
        return known

    def _named(code, names):
        """The code with these names for its fields: as parameters, as attributes and as texts."""
        given, own = {f"_{number}": name for number, name in enumerate(names)}, "_self"
        while own in names:
            own += "_"
        given["_self"] = own
        return code.replace(
            co_varnames=tuple([given.get(each, each) for each in code.co_varnames]),
            co_names=tuple([given.get(each, each) for each in code.co_names]),
            co_consts=tuple([given.get(each, each) if isinstance(each, str) else each for each in code.co_consts]),
        )

    def _values(record, is_meant=operator.attrgetter("compare")):
        """What makes a tuple of the fields that are compared, or hashed."""
        names = [name for name, each in record.items() if is_meant(each)]
        if len(names) > 1:
            return operator.attrgetter(*names)
        if names:
            only = operator.attrgetter(names[0])
            return lambda self: (only(self),)
        return lambda self: ()

    def _comparing(record, name):
        values, compare = _values(record), getattr(operator, name)

        def method(self, other):
            return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

        method.__name__ = name
        return method

    def _hash(record):
        values = _values(record, operator.attrgetter("hash"))

        def __hash__(self):
            return hash(values(self))

        return __hash__

    def _repr(record):
        names = [name for name, each in record.items() if each.repr]

        @recursive_repr()
        def __repr__(self):
            shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
            return f"{self.__class__.__qualname__}({shown})"

        return __repr__

    def _frozen(cls, names):
        def __setattr__(self, name, value):
            if type(self) is cls or name in names:
                raise _refused(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        def __delattr__(self, name):
            if type(self) is cls or name in names:
                raise _refused(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        return __setattr__, __delattr__

    def _refused(message):
        from dataclasses import FrozenInstanceError

        return FrozenInstanceError(message)

    def _state(self):
        return [getattr(self, name) for name in getattr(self, _RECORD)]

    def _set_state(self, state):
        for name, value in zip(getattr(self, _RECORD), state, strict=True):
            object.__setattr__(self, name, value)
