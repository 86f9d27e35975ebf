"""The audit trail: every write (`trail.py`), chained by hashes (`chain.py`); what is known of it elsewhere (`sink.py`);
what applies and recoveries leave in it (`runs.py`)."""

from workbench.audit.trail import Actor, Anchor, AuditCheck, AuditEntry, AuditTrail

__all__ = ["Actor", "Anchor", "AuditCheck", "AuditEntry", "AuditTrail"]
