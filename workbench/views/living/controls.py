"""The settings of a living view in Python: values that are checked, and that a page shows as inputs."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import anywidget
import traitlets

from workbench.views.living import module, style

ALIVE = "This is a saved widget. To move it, trust the notebook (File, Trust Notebook), or run its cells."


def with_twin(root: anywidget.AnyWidget, sentence: str, html: str, **kwargs: Any) -> Any:
    """The output of a cell that shows `root`; where widgets cannot be shown, the sentence and `html`."""
    shown = root._repr_mimebundle_(**kwargs)
    bundle = shown[0] if isinstance(shown, tuple) else shown
    if isinstance(bundle, dict):
        twin = f"<p><b>{escape(ALIVE)}</b></p><p>{escape(sentence)}</p>{html}"
        bundle |= {"text/plain": sentence, "text/html": twin}
    return shown


class Control(traitlets.HasTraits):
    """One setting. A change of `value` is heard with `observe`."""

    value = traitlets.Any()
    disabled = False


class Text(Control):
    """A text."""

    value = traitlets.Unicode()


class Choice(Control):
    """One of several texts."""

    def __init__(self, options: tuple[str, ...], value: Any) -> None:
        self.options = options
        super().__init__(value=value)

    @traitlets.validate("value")
    def _is_offered(self, proposal: Any) -> Any:
        if proposal["value"] not in self.options:
            raise traitlets.TraitError(f"{proposal['value']!r} is not offered.")
        return proposal["value"]


class Several(Choice):
    """Some of several texts, as a tuple in their order."""

    @traitlets.validate("value")
    def _is_offered(self, proposal: Any) -> Any:
        if unknown := set(proposal["value"]) - set(self.options):
            raise traitlets.TraitError(f"{sorted(unknown)} are not offered.")
        return tuple(one for one in self.options if one in proposal["value"])


class Span(Control):
    """A number from `min` to `max`; `step` is that of its slider."""

    def __init__(self, low: float, high: float, step: float, value: float) -> None:
        self.span(low, high, step)
        super().__init__(value=value)

    def span(self, low: float, high: float, step: float) -> None:
        """Sets the ends and the step."""
        self.min, self.max, self.step = low, high, step


class Living(anywidget.AnyWidget):
    """The living view in a notebook: `data` to compute from, and `settings`, which both sides set."""

    _esm, _css = module(), style()
    data = traitlets.Dict().tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)

    def __init__(self, data: Mapping[str, Any], controls: Mapping[str, Control]) -> None:
        super().__init__(data=data, settings={name: one.value for name, one in controls.items()})
        self.add_class(f"workbench-{self.model_id}")  # by which the page finds the element of this model
        self._controls = controls
        self.observe(self._moved, "settings")
        for one in controls.values():
            one.observe(self._set, "value")

    def _moved(self, change: Any) -> None:
        """Takes over what was moved on the page."""
        for name, control in self._controls.items():
            if name in change["new"]:
                control.value = change["new"][name]
        self._set(None)

    def _set(self, _: Any) -> None:
        """Shows what was set in Python."""
        self.settings = {name: one.value for name, one in self._controls.items()}
