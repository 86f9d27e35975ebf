"""Browse: the tree of the repository, and beside it what is known of the stack under the cursor."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll

from workbench.present import browse, durations, reconcile
from workbench.present.diff import summary_line
from workbench.present.text import Line, Span, Tone, line
from workbench.project import StackPath
from workbench.tui.frame import MATCH_KEYS, Frame, StateChanged
from workbench.tui.memory import Place
from workbench.tui.state import StackState, not_watched
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.words import counted

_NEXT = {"browse.spec": "spec", "browse.diff": "diff", "browse.plan": "plan", "browse.watch": "watch"}
"""What there is to do with a stack of which nothing is known yet, by the names of the keys."""


class BrowseScreen(Frame):
    stops = "browse.stop-waiting"
    DEFAULT_CSS = """
    BrowseScreen #tree { width: 3fr; }
    BrowseScreen #overview { width: 2fr; padding: 0 1; border-left: solid $panel; }
    BrowseScreen.-narrow #overview { display: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "open('spec')", "Spec"),
        Binding("d", "open('diff')", "Diff"),
        Binding("P", "open('plan')", "Plan"),
        Binding("a", "open('plan')", "Apply ...", show=False),
        Binding("w", "open('reconcile')", "Watch"),
        Binding("i", "open('whatif')", "What if"),
        Binding("X", "open('destroy')", "Destroy ...", show=False),
        Binding("space", "mark", "Mark"),
        Binding("V", "mark_to", "Mark up to here", show=False),
        Binding("asterisk", "mark_all", "Mark all shown", key_display="*", show=False),
        Binding("K", "call_off", "Stop waiting", show=False),
        Binding("e", "edit", "Edit", show=False),
        *MATCH_KEYS,
    ]

    def body(self) -> ComposeResult:
        with Horizontal(id="panes"):
            empty = "no stacks here: a stack has a stack.yaml, or a kcl.mod with [profile] entries"
            yield ResourceTable(browse.COLUMNS, id="tree", empty=empty, markable=True)
            with VerticalScroll(id="overview", can_focus=False):
                yield ToneText(id="about", wrap=True)

    def on_state_changed(self, event: StateChanged) -> None:
        self.redraw_soon()

    def show_state(self) -> None:
        app = self.workbench
        known = {path: state.known for path, state in app.states.items()}
        tree = self.query_one("#tree", ResourceTable)
        if not tree.rows:  # components are shown on demand: most of the time they only make the tree long
            tree.folded |= set(known)
        tree.set_rows(browse.rows(app.konfig, known, app.glyphs, app.now()))
        self._show_overview()

    @property
    def shown_state(self) -> StackState | None:
        path = self.selected
        return self.workbench.states.get(path) if path else None

    @property
    def selected(self) -> StackPath | None:
        """The stack under the cursor, or the one its component belongs to."""
        match self.query_one("#tree", ResourceTable).current:
            case StackPath() as path:
                return path
            case (StackPath() as path, str()):
                return path
        return None

    def place(self) -> Place | None:
        path = self.selected if self._is_composed else None
        return Place(f"stack {path}", self.filter_text) if path else None

    def on_resource_table_highlighted(self) -> None:
        self.redraw()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        if self.selected is None:
            event.table.action_fold(event.key not in event.table.folded)
        else:
            self.action_open("spec")

    def action_mark(self) -> None:
        """Marks the stack under the cursor, or of a project all; `c` and `d` then work on all that are marked."""
        tree = self.query_one("#tree", ResourceTable)
        match tree.current:
            case ("project", str() as name):
                for path in self.workbench.states:
                    if path.project == name:
                        tree.toggle_mark(path)
            case _ if self.selected is not None:
                tree.toggle_mark(self.selected)
        tree.action_cursor(1)

    def action_mark_to(self) -> None:
        """Marks all that is shown from the last one that was marked up to the cursor."""
        tree = self.query_one("#tree", ResourceTable)
        if not tree.mark_to_cursor(lambda key: isinstance(key, StackPath)):
            key = self.workbench.key("browse.mark")
            self.notify(f"mark where the range begins with {key} first", severity="warning")

    def action_mark_all(self) -> None:
        tree = self.query_one("#tree", ResourceTable)
        shown = {row.key for row in tree.shown if isinstance(row.key, StackPath)}
        for key in shown - tree.marks or shown:
            tree.toggle_mark(key)

    @property
    def marked(self) -> list[StackState]:
        """The stacks that are marked, in the order of the repository."""
        tree = self.query_one("#tree", ResourceTable)
        return [state for path, state in self.workbench.states.items() if path in tree.marks]

    def action_open(self, screen: str) -> None:
        marked = self.marked
        if len(marked) > 1 and screen in ("spec", "diff"):
            (self.workbench.compile_marked if screen == "spec" else self.workbench.diff_marked)(marked)
            self.notify(f"{'compiling' if screen == 'spec' else 'comparing'} {counted(len(marked), 'stack')}")
            return
        state = self.shown_state
        if state is None:
            self.notify("put the cursor on a stack first", severity="warning")
        else:
            self.workbench.open_stack(state, screen)

    def action_edit(self) -> None:
        state = self.shown_state
        if state is not None:
            self.workbench.edit(state.stack.directory / "main.k", 1)

    def action_reload(self) -> None:
        self.workbench.read_tree()
        self.redraw()

    def status(self) -> Line:
        """Findings of the repository itself come first: they concern every stack, wherever the cursor is."""
        findings = self._findings()
        return line(findings[0], "  ", super().status()) if findings else super().status()

    def _show_overview(self) -> None:
        self.query_one("#about", ToneText).show_all(self._overview())

    def _overview(self) -> list[Line]:
        state, glyphs, now = self.shown_state, self.workbench.glyphs, self.workbench.now()
        if state is None:
            return [line(Span("Put the cursor on a stack.", Tone.MUTED)), *self._findings()]
        stack = state.stack
        found = [line(Span(stack.name, Tone.STRONG))]
        if stack.project_directory.parent != self.workbench.konfig.root:
            found.append(line(Span("domain     ", Tone.MUTED), stack.project_directory.parent.name))
        found.append(line(Span("clusters   ", Tone.MUTED), ", ".join(stack.clusters) or "none"))
        if stack.placement and stack.placement.namespace:
            found.append(line(Span("namespace  ", Tone.MUTED), f"by {stack.placement.namespace.by}"))
        release = self.workbench.latest_release(stack)
        if release is not None:
            when = f"{release.started:%Y-%m-%d %H:%M} UTC"
            text = f"#{release.revision} {release.phase} by {release.user}, {when}"
            found.append(line(Span("release    ", Tone.MUTED), text))
        found += [
            line(Span("component  ", Tone.MUTED), each.name, Span(f"  {each.schema}", Tone.MUTED))
            for each in stack.components
        ]
        found.append(Line())
        if state.diff is not None:
            certain = state.diff.is_certain
            age = durations.short((now - state.diff.compared_at).total_seconds())
            found.append(summary_line(state.diff.summary, glyphs, is_certain=certain))
            found.append(line(Span(f"compared {age} ago", Tone.MUTED)))
        if state.tree is not None:
            found += [reconcile.summary(state.tree, glyphs, now), reconcile.why_line(state.tree, glyphs, now)]
            found.append(
                line(
                    reconcile.heard(state.tree, now),
                    Span(not_watched(state, self.workbench.key("browse.watch")), Tone.WARN),
                )
            )
        found += [line(Span(f"{glyphs.finding} {each.where}: {each.message}", Tone.BAD)) for each in stack.findings]
        if state.diff is None and state.tree is None:
            keys = (f"{self.workbench.key(name)} {does}" for name, does in _NEXT.items())
            found.append(line(Span("   ".join(keys), Tone.MUTED)))
        return found

    def _findings(self) -> list[Line]:
        glyphs = self.workbench.glyphs
        return [
            line(Span(f"{glyphs.finding} {each.where}: {each.message}", Tone.BAD))
            for each in (*self.workbench.konfig.findings, *self.workbench.konfig.misread)
        ]
