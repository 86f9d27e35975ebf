"""Spec: the resources of a stack, and the one under the cursor as YAML with the source of each line in the gutter."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from runtimes.base import FieldPath, KubernetesId, ResourceId, TerraformId
from workbench.present import spec
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.widgets.resource_table import ResourceTable


class SpecScreen(Frame):
    stops = "spec.stop-waiting"
    name_in_trail = "Spec"

    DEFAULT_CSS = """
    SpecScreen #panes { layout: horizontal; }
    SpecScreen.-narrow #panes { layout: vertical; }
    SpecScreen #resources { width: 2fr; }
    SpecScreen #yaml { width: 3fr; border-left: solid $panel; }
    SpecScreen.-narrow #resources { width: 1fr; height: 7; }
    SpecScreen.-narrow #yaml { width: 1fr; border-left: none; border-top: solid $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "app.switch_to('whatif')", "What if", show=False),
        Binding("d", "app.switch_to('diff')", "Diff"),
        Binding("P", "app.switch_to('plan')", "Plan"),
        Binding("w", "app.switch_to('reconcile')", "Watch"),
        Binding("s", "source", "Go to source"),
        Binding("u", "relations", "Used by", show=False),
        Binding("K", "call_off", "Stop waiting", show=False),
        Binding("r", "reload", "Compile again"),
        *MATCH_KEYS,
    ]

    def body(self) -> ComposeResult:
        with Container(id="panes"):
            yield ResourceTable(spec.RESOURCE_COLUMNS, id="resources", empty="compiling ...")
            yield ResourceTable(spec.YAML_COLUMNS, id="yaml", header=False, empty="")

    def on_mount(self) -> None:
        super().on_mount()
        if self.state and self.state.compiled is None:
            self.workbench.compile_stack(self.state)

    def show_state(self) -> None:
        compiled = self.state.compiled if self.state else None
        resources = self.query_one("#resources", ResourceTable)
        if compiled is None:
            resources.empty = "nothing compiled yet" if self.state and self.state.error else "compiling ..."
            resources.refresh()
            return
        resources.set_rows(spec.resource_rows(compiled.spec))
        self._show_yaml()

    def _show_yaml(self) -> None:
        compiled = self.state.compiled if self.state else None
        match self.query_one("#resources", ResourceTable).current:
            case (KubernetesId() | TerraformId()) as id_ if compiled:
                resource = compiled.spec.get(id_)
                rows = spec.yaml_rows(resource, compiled.spec, *self.roots) if resource else ()
                self.query_one("#yaml", ResourceTable).set_rows(rows)

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        if event.table.id == "resources":
            self._show_yaml()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        if event.table.id == "resources":
            self.query_one("#yaml", ResourceTable).focus()
        else:
            self.action_source()

    def action_source(self) -> None:
        """Opens the editor at the line that set what is under the cursor."""
        compiled = self.state.compiled if self.state else None
        id_ = self._resource_id()
        if compiled is None or id_ is None:
            return
        path: FieldPath = ()
        match self.query_one("#yaml", ResourceTable).current:
            case (tuple() as found, int()):
                path = found
        chain = compiled.spec.chain(id_, path)
        if chain:
            self.workbench.edit(chain[0].file, chain[0].line)
        else:
            self.notify("no source line is known for this", severity="warning")

    def action_relations(self) -> None:
        """Opens what of the stack names the object under the cursor, and what that names."""
        from workbench.tui import asking

        id_ = self._resource_id()
        if self.state is not None and id_ is not None:
            asking.used_by(self.workbench, self.state, id_)

    def resource_id(self) -> ResourceId | None:
        return self._resource_id()

    def clusters_of_cursor(self) -> tuple[str, ...]:
        return self.state.stack.clusters if self.state is not None else ()

    def field_path(self) -> FieldPath:
        yaml = self.query_one("#yaml", ResourceTable)
        match yaml.current:
            case (tuple() as found, int()) if self.focused is yaml:
                return found
        return ()

    def copied(self) -> str:
        """The resource under the cursor as YAML, secrets masked."""
        return "\n".join(str(row.cells[1]) for row in self.query_one("#yaml", ResourceTable).rows)

    def _resource_id(self) -> ResourceId | None:
        match self.query_one("#resources", ResourceTable).current:
            case (KubernetesId() | TerraformId()) as id_:
                return id_
        return None
