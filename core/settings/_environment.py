"""The base of settings that are also read from environment variables."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource
from typing_extensions import override


class EnvironmentSettings(BaseSettings):
    """Settings from arguments and environment variables, of which the arguments win."""

    @override
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave out the files that pydantic could read: `.env` is loaded into the environment."""
        return init_settings, _Variables(settings_cls)


class _Variables(EnvSettingsSource):
    """The environment variables that are set.

    Pydantic examines the type of each field before it looks for a variable; with about a hundred
    fields, that takes most of the time in which settings are read.
    """

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        if f"{self.env_prefix}{field_name}".lower() not in self.env_vars:
            # Called complex, a field is not examined for other names that it may have.
            return None, field_name, True
        return super().get_field_value(field, field_name)

    @override
    def prepare_field_value(
        self, field_name: str, field: FieldInfo, value: Any, value_is_complex: bool
    ) -> Any:
        if value is None:
            return None
        return super().prepare_field_value(field_name, field, value, value_is_complex)
