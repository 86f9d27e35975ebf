"""Rules for where pods may run: node and pod affinity, spread over topologies, tolerations, gates."""

from __future__ import annotations

from runtimes.sandbox.validate import meta, names
from runtimes.sandbox.validate.causes import Causes, Object

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_LIST_OPERATORS, _NUMBER_OPERATORS = ("In", "NotIn"), ("Gt", "Lt")


def affinity(causes: Causes, given: Object, path: str) -> None:
    _node_affinity(causes, given.get("nodeAffinity") or {}, f"{path}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        part = given.get(kind) or {}
        for index, term in enumerate(part.get(REQUIRED) or []):
            _pod_term(causes, term, f"{path}.{kind}.{REQUIRED}[{index}]")
        for index, weighted in enumerate(part.get(PREFERRED) or []):
            here = f"{path}.{kind}.{PREFERRED}[{index}]"
            _weight(causes, weighted, here)
            _pod_term(causes, weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")


def _node_affinity(causes: Causes, given: Object, path: str) -> None:
    if given.get(REQUIRED) is not None:
        node_selector(causes, given[REQUIRED], f"{path}.{REQUIRED}")
    for index, weighted in enumerate(given.get(PREFERRED) or []):
        here = f"{path}.{PREFERRED}[{index}]"
        _weight(causes, weighted, here)
        _node_term(causes, weighted.get("preference") or {}, f"{here}.preference")


def _weight(causes: Causes, weighted: Object, path: str) -> None:
    weight = weighted.get("weight", 0)
    if not 1 <= weight <= 100:
        causes.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def node_selector(causes: Causes, selector: Object, path: str) -> None:
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        causes.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        _node_term(causes, term, f"{path}.nodeSelectorTerms[{index}]")


def _node_term(causes: Causes, term: Object, path: str) -> None:
    for index, requirement in enumerate(term.get("matchExpressions") or []):
        _node_expression(causes, requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.get("matchFields") or []):
        _node_field(causes, requirement, f"{path}.matchFields[{index}]")


def _node_expression(causes: Causes, requirement: Object, path: str) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    if operator in _LIST_OPERATORS:
        if not values:
            causes.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            causes.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in _NUMBER_OPERATORS:
        if len(values) != 1:
            causes.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        causes.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = requirement.get("key", "")
    causes.invalid_each(f"{path}.key", key, names.qualified(key))
    for index, value in enumerate(values):
        causes.invalid_each(f"{path}.values[{index}]", value, names.label_value(value))


def _node_field(causes: Causes, requirement: Object, path: str) -> None:
    """Of a node's fields only its name can be asked for."""
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    if operator in _LIST_OPERATORS:
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            causes.required(f"{path}.values", text)
    else:
        causes.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = requirement.get("key", "")
    if key != "metadata.name":
        causes.invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        causes.invalid_each(f"{path}.values[{index}]", value, names.subdomain(value))


def _pod_term(causes: Causes, term: Object, path: str) -> None:
    meta.label_selector(causes, f"{path}.labelSelector", term.get("labelSelector"))
    meta.label_selector(causes, f"{path}.namespaceSelector", term.get("namespaceSelector"))
    for namespace in term.get("namespaces") or []:
        causes.invalid_each(f"{path}.namespace", namespace, names.label(namespace))
    _match_label_keys(causes, term, path)
    key = term.get("topologyKey", "")
    if not key:
        causes.required(f"{path}.topologyKey", "can not be empty")
    causes.invalid_each(f"{path}.topologyKey", key, names.qualified(key))


def _match_label_keys(causes: Causes, term: Object, path: str) -> None:
    both = term.get("mismatchLabelKeys") or []
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        _label_keys(causes, term, field, path)
    for index, key in enumerate(term.get("matchLabelKeys") or []):
        if key in both:
            where = f"{path}.matchLabelKeys[{index}]"
            causes.invalid(where, key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _label_keys(causes: Causes, given: Object, field: str, path: str) -> None:
    keys = given.get(field) or []
    if keys and given.get("labelSelector") is None:
        causes.forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        causes.invalid_each(f"{path}.{field}[{index}]", key, names.qualified(key))


def spread(causes: Causes, constraints: list[Object], path: str) -> None:
    for index, constraint in enumerate(constraints):
        _constraint(causes, constraint, f"{path}[{index}]")
        pair = (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
        for other in constraints[index + 1 :]:
            if pair == (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")):
                causes.duplicate(f"{path}[{index}].{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
                break


def _constraint(causes: Causes, constraint: Object, path: str) -> None:
    skew, action = constraint.get("maxSkew", 0), constraint.get("whenUnsatisfiable", "")
    if skew <= 0:
        causes.invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not constraint.get("topologyKey"):
        causes.required(f"{path}.topologyKey", "can not be empty")
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        causes.not_supported(f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
    domains = constraint.get("minDomains")
    if domains is not None:
        if domains <= 0:
            causes.invalid(f"{path}.minDomains", domains, "must be greater than zero")
        if action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            causes.invalid(f"{path}.minDomains", domains, text)
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if constraint.get(field) not in (None, "Honor", "Ignore"):
            causes.not_supported(f"{path}.{field}", constraint[field], ("Honor", "Ignore"))
    _label_keys(causes, constraint, "matchLabelKeys", path)
    meta.label_selector(causes, f"{path}.labelSelector", constraint.get("labelSelector"))


def gates(causes: Causes, given: list[Object], path: str) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(given):
        name = gate.get("name", "")
        causes.invalid_each(f"{path}[{index}]", name, names.qualified(name))
        if name in seen:
            causes.duplicate(f"{path}[{index}]", name)
        seen.add(name)


def tolerations(causes: Causes, given: list[Object], path: str) -> None:
    for index, toleration in enumerate(given):
        here, key, operator = f"{path}[{index}]", toleration.get("key", ""), toleration.get("operator", "")
        value, effect = toleration.get("value", ""), toleration.get("effect", "")
        if key:
            causes.invalid_each(f"{here}.key", key, names.qualified(key))
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.invalid(f"{here}.operator", operator, text)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            causes.invalid(f"{here}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator in ("Equal", ""):
            wrong = names.label_value(value)
            if wrong:
                causes.invalid(f"{here}.operator", value, ";".join(wrong))
        elif operator == "Exists":
            if value:
                causes.invalid(f"{here}.operator", value, "value must be empty when `operator` is 'Exists'")
        else:
            causes.not_supported(f"{here}.operator", operator, ("Equal", "Exists"))
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        if effect and effect not in effects:
            causes.not_supported(f"{here}.effect", effect, effects)
