"""Objects that are what their constructor was given: parameters, copies, equality."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd

from pvf import _checks as check


class Settings:
    """An object that scikit-learn can clone and set, and that equals others of the same settings.

    A subclass keeps each argument of its constructor under the argument's name.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments, and those of nested objects as ``name__argument``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to go into nested objects.

        Returns
        -------
        dict
        """
        check.flag("deep", deep)
        params = inspect.signature(type(self)).parameters
        found = {name: getattr(self, name, None) for name in params}
        if deep:
            for name, part in self._nested().items():
                found |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change arguments, checked as in the constructor; what `fit` learnt stays.

        Parameters
        ----------
        **params
            As `get_params` names them.

        Returns
        -------
        The object itself.

        Raises
        ------
        ValueError, TypeError
            A name is unknown, or the constructor would refuse the value.
        """
        own, nested = self.get_params(deep=False), self._nested()
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            # A column's name may hold two underscores too, so the longest part that fits counts.
            outer, _, key = name.rpartition("__")
            if name in own:
                own[name] = value
            elif outer in nested:
                inner.setdefault(outer, {})[key] = value
            else:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{sorted(self.get_params())}."
                )
        for name, changes in inner.items():
            nested[name].set_params(**changes)
        type(self)(**own)  # refuses before anything is changed
        type(self).__init__(self, **own)
        return self

    def _nested(self) -> dict[str, Settings]:
        own = self.get_params(deep=False)
        return {name: value for name, value in own.items() if isinstance(value, Settings)}

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _key(self) == _key(other)

    def __hash__(self) -> int:
        return hash(_key(self))


def _key(value: Any) -> Hashable:
    """Return what two equal settings have in common."""
    if isinstance(value, Settings):
        own = value.get_params(deep=False)
        return type(value), tuple((name, _key(part)) for name, part in own.items())
    if isinstance(value, Mapping):
        return "mapping", frozenset((name, _key(part)) for name, part in value.items())
    if isinstance(value, pd.DataFrame):
        return _key(value.index), _key(value.columns), _key(value.to_numpy())
    if isinstance(value, list | tuple | np.ndarray | pd.Index | pd.Series):
        return tuple(_key(part) for part in value)
    return value if isinstance(value, Hashable) else id(value)
