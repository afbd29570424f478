"""A provider for OpenFeature: a flag is a campaign, its variant the action that was decided.

Resolving a flag asks the service for a decision; `track` reports its signal or its reward.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from foretell.client.aio import AsyncClient
from foretell.client.decision import ServiceDecision
from foretell.client.errors import ClientClosed, ServiceRefused, ServiceUnavailable
from foretell.client.flag_values import FlagKind, FlagValue, WrongKind, flag_value
from foretell.client.health import FallbackLog
from foretell.client.recent_decisions import RecentDecisions
from foretell.client.sync import Client
from foretell.errors import ForetellError, InvalidInput, MissingExtra

try:
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import ErrorCode
    from openfeature.flag_evaluation import FlagResolutionDetails, Reason
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails
except ImportError as error:
    raise MissingExtra(
        "the provider for OpenFeature needs openfeature-sdk, which is not installed: "
        "install it with pip install 'foretell[openfeature]'"
    ) from error

Value = TypeVar("Value")
_ObjectValue: TypeAlias = Sequence[Any] | Mapping[str, Any]
_STATUS_CODES = {404: ErrorCode.FLAG_NOT_FOUND, 422: ErrorCode.INVALID_CONTEXT}


class ForetellProvider(AbstractProvider):
    """Resolves flags by decisions of a service, and reports what is tracked about them.

    The settings are those of `foretell.Client`; there is no fallback, as each flag comes with its
    default value. `values` has for a flag the value of each action; an action that is not there has
    its name as its value: "on" is true to a flag that is true or false, "20" is a number to one
    that is a number.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        outbox: str | os.PathLike[str] | None = None,
        values: Mapping[str, Mapping[str, FlagValue]] | None = None,
    ) -> None:
        """Check the settings; connections come with the first flag."""
        super().__init__()
        self.client = Client(url, key=key, timeout=timeout, outbox=outbox)
        """Reports what is tracked, and what OpenFeature has no word for."""
        self._async_client = AsyncClient(url, key=key, timeout=timeout)
        self._values = values or {}
        self._recent = RecentDecisions()
        self._failures = FallbackLog()

    @property
    def fallbacks(self) -> int:
        """How often a default value was returned because the service did not answer."""
        return self._failures.fallbacks

    @property
    def dropped(self) -> int:
        """How often something was tracked that could not be reported."""
        return self._failures.dropped

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata("foretell")

    def shutdown(self) -> None:
        """Send what can be sent, and stop."""
        self.client.close()

    async def close_async(self) -> None:
        """Close the connections of the running loop; the SDK shuts down outside of loops."""
        await self._async_client.close()

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,  # noqa: FBT001  (as the SDK calls it)
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Decide for a flag that is true or false."""
        return self._resolve("boolean", flag_key, default_value, evaluation_context)

    async def resolve_boolean_details_async(
        self,
        flag_key: str,
        default_value: bool,  # noqa: FBT001  (as the SDK calls it)
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Decide for a flag that is true or false."""
        return await self._resolve_async("boolean", flag_key, default_value, evaluation_context)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Decide for a flag that is a text."""
        return self._resolve("string", flag_key, default_value, evaluation_context)

    async def resolve_string_details_async(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Decide for a flag that is a text."""
        return await self._resolve_async("string", flag_key, default_value, evaluation_context)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Decide for a flag that is a whole number."""
        return self._resolve("integer", flag_key, default_value, evaluation_context)

    async def resolve_integer_details_async(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Decide for a flag that is a whole number."""
        return await self._resolve_async("integer", flag_key, default_value, evaluation_context)

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """Decide for a flag that is a number."""
        return self._resolve("float", flag_key, default_value, evaluation_context)

    async def resolve_float_details_async(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """Decide for a flag that is a number."""
        return await self._resolve_async("float", flag_key, default_value, evaluation_context)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: _ObjectValue,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[_ObjectValue]:
        """Decide for a flag that is a list or a mapping."""
        return self._resolve("object", flag_key, default_value, evaluation_context)

    async def resolve_object_details_async(
        self,
        flag_key: str,
        default_value: _ObjectValue,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[_ObjectValue]:
        """Decide for a flag that is a list or a mapping."""
        return await self._resolve_async("object", flag_key, default_value, evaluation_context)

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report a reward, where there is a value, else the signal of this name.

        It is about the decision whose id is the attribute `decision_id`; else about that of the
        flag in the attribute `flag_key`, or the only flag, that was last resolved for the targeting
        key in this process. Nothing is raised: what cannot be reported is counted and logged.
        """
        details = tracking_event_details or TrackingEventDetails()
        about: dict[str, Any] = details.attributes
        unit = None if evaluation_context is None else evaluation_context.targeting_key
        named = {one: about[one] for one in ("event_id", "occurred_at") if one in about}
        try:
            decision = about.get("decision_id") or self._recent.find(unit, about.get("flag_key"))
            if details.value is None:
                self.client.signal(decision, tracking_event_name, **named)
            else:
                self.client.reward(decision, details.value, **named)
        except ForetellError as error:
            self._failures.drop(error)

    def _resolve(
        self, kind: FlagKind, flag: str, default: Value, context: EvaluationContext | None
    ) -> FlagResolutionDetails[Value]:
        try:
            decision = self.client.decide(flag, **_asked(context))
        except ForetellError as error:
            return self._undecided(kind, flag, default, error)
        return self._decided(kind, flag, default, context, decision)

    async def _resolve_async(
        self, kind: FlagKind, flag: str, default: Value, context: EvaluationContext | None
    ) -> FlagResolutionDetails[Value]:
        try:
            decision = await self._async_client.decide(flag, **_asked(context))
        except ForetellError as error:
            return self._undecided(kind, flag, default, error)
        return self._decided(kind, flag, default, context, decision)

    def _decided(
        self,
        kind: FlagKind,
        flag: str,
        default: Value,
        context: EvaluationContext | None,
        decision: ServiceDecision[Any],
    ) -> FlagResolutionDetails[Value]:
        """Return the value of a decision; one whose value cannot be used was never shown."""
        try:
            value = flag_value(kind, decision.action, self._values.get(flag, {}))
        except WrongKind as error:
            self.client.void(decision.id)
            return _refused(default, ErrorCode.TYPE_MISMATCH, f"the flag {flag!r}: {error}")
        self._recent.keep(None if context is None else context.targeting_key, flag, decision.id)
        facts = {
            "decision_id": decision.id,
            "mode": decision.mode,
            "propensity": decision.propensity,
            "policy": decision.policy,
            "reward_due_at": decision.reward_due_at,
        }
        metadata: dict[str, Any] = {name: one for name, one in facts.items() if one is not None}
        return FlagResolutionDetails(
            value, reason=Reason.SPLIT, variant=decision.action, flag_metadata=metadata
        )

    def _undecided(
        self, kind: FlagKind, flag: str, default: Value, error: ForetellError
    ) -> FlagResolutionDetails[Value]:
        """Return the default value, and why there is no decision.

        A service that can choose and not write says what its policy would take: that is returned.
        """
        if isinstance(error, ServiceUnavailable):
            self._failures.fell_back(flag, error)
            metadata = {"mode": "fallback", "detail": str(error)}
            with suppress(WrongKind):
                if error.action is not None:
                    value = flag_value(kind, error.action, self._values.get(flag, {}))
                    return FlagResolutionDetails(
                        value, reason=Reason.STALE, variant=error.action, flag_metadata=metadata
                    )
            return FlagResolutionDetails(default, reason=Reason.DEFAULT, flag_metadata=metadata)
        if isinstance(error, ServiceRefused) and error.status == 409:
            metadata = {"detail": error.detail}
            return FlagResolutionDetails(default, reason=Reason.DISABLED, flag_metadata=metadata)
        if isinstance(error, ServiceRefused):
            return _refused(default, _STATUS_CODES.get(error.status, ErrorCode.GENERAL), str(error))
        if isinstance(error, ClientClosed):
            return _refused(default, ErrorCode.PROVIDER_NOT_READY, str(error))
        wrong = isinstance(error, InvalidInput)
        code = ErrorCode.INVALID_CONTEXT if wrong else ErrorCode.GENERAL
        return _refused(default, code, str(error))


def _refused(default: Value, code: ErrorCode, why: str) -> FlagResolutionDetails[Value]:
    return FlagResolutionDetails(default, code, why, reason=Reason.ERROR)


def _asked(context: EvaluationContext | None) -> dict[str, Any]:
    """Return what is asked of the service: the unit, and two attributes that have a meaning.

    Other attributes are not sent: they may be personal, and no policy reads them.
    """
    if context is None:
        return {}
    named = {one: context.attributes.get(one) for one in ("eligible", "decision_key")}
    return {"unit": context.targeting_key or None, **named}
