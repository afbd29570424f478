"""The files of deploy/ are sound by their own linters, and agree with each other and the code."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from foretell.service.setting_info import known_settings
from foretell.service.settings import ADMIN_KEY, Settings
from tests.deploy.tools import DEPLOY, ROOT, run, write_config

KUBERNETES = ("1.29", "1.33")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
RESOURCES: list[dict[str, Any]] = list(
    yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
)
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
UNIT = (DEPLOY / "foretell.service").read_text("utf-8")


def test_the_dockerfile_passes_its_linter() -> None:
    checked = run("hadolint", str(DEPLOY / "Dockerfile"))
    assert checked.returncode == 0, checked.stdout


def test_the_image_holds_what_the_lock_of_a_server_pins_and_runs_without_rights() -> None:
    assert "--require-hashes --requirement requirements-serve.lock" in DOCKERFILE
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert "pip" not in last, "what builds does not stay"
    assert re.search(r"^USER 10001:10001$", last, flags=re.MULTILINE)
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = {
        name
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, flags=re.MULTILINE)
        for name in line.split()
    }
    assert {f"!{name}" for name in copied} == {line for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)


def test_the_compose_file_is_one_by_the_published_schema() -> None:
    checked = run(
        "check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")
    )
    assert checked.returncode == 0, checked.stdout


def test_two_deciders_share_one_postgresql_behind_a_proxy() -> None:
    services = COMPOSE["services"]
    deciders = [name for name in services if name.startswith("decider-")]
    assert len(deciders) == 2
    proxy = (DEPLOY / "nginx.conf").read_text("utf-8")
    prometheus = (DEPLOY / "prometheus" / "prometheus.yaml").read_text("utf-8")
    for name in deciders:
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["environment"]["FORETELL_DB"].startswith("postgresql://")
        assert f"server {name}:{Settings().port}" in proxy
        assert f"{name}:{Settings().port}" in prometheus
        assert "ports" not in services[name], "only the proxy is reached from outside"
    assert "ports" not in services["postgres"]


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource["kind"])
def test_a_resource_of_kubernetes_is_one_by_the_published_schema(
    resource: dict[str, Any], version: str
) -> None:
    kubernetes_validate.validate(resource, version, strict=True)


def test_a_pod_runs_without_rights_and_is_given_time_to_stop() -> None:
    (deployment,) = [one for one in RESOURCES if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert not container["securityContext"]["allowPrivilegeEscalation"]
    assert pod["terminationGracePeriodSeconds"] > Settings().drain_seconds + 30
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    (ingress,) = [one for one in RESOURCES if one["kind"] == "Ingress"]
    paths = [one["path"] for one in ingress["spec"]["rules"][0]["http"]["paths"]]
    assert not [path for path in paths if "/metrics".startswith(path)]


def test_the_unit_of_systemd_is_one_and_leaves_the_machine_alone(tmp_path: Path) -> None:
    here = str(Path(sys.executable).parent / "foretell")
    assert UNIT.count("/opt/foretell/bin/foretell serve") == 1
    unit = tmp_path / "foretell.service"
    unit.write_text(UNIT.replace("/opt/foretell/bin/foretell", here))
    checked = run("systemd-analyze", "verify", "--man=no", str(unit))
    assert (checked.returncode, checked.stderr) == (0, "")
    rated = run("systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit))
    assert rated.returncode == 0, rated.stdout[-300:]


@pytest.mark.parametrize("name", ["nginx.conf", "nginx-path.conf"])
def test_the_configuration_of_nginx_is_one(name: str, tmp_path: Path) -> None:
    content = re.sub(r"decider-\d:8000", "127.0.0.1:8000", (DEPLOY / name).read_text("utf-8"))
    if name == "nginx-path.conf":
        content = f"server {{ listen 8080; {content} }}"
    config = write_config(tmp_path, content)
    log = str(tmp_path / "nginx.log")
    checked = run("nginx", "-t", "-e", log, "-p", str(tmp_path), "-c", str(config))
    assert checked.returncode == 0, checked.stderr


def test_every_variable_of_ours_is_a_setting() -> None:
    known = {one.variable for one in known_settings().values()} | {ADMIN_KEY}
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            named = set(re.findall(r"\bFORETELL_[A-Z_]+\b", path.read_text("utf-8")))
            assert named <= known, path
