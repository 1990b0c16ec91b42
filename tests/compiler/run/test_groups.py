"""Control groups, as files say them."""

import pytest

from retrograde.compiler.run import groups


def made(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root / "cgroup", root / "self"


SECOND = "0::/user/job"
FIRST = "7:cpu,cpuacct:/job\n4:memory:/job\n1:name=systemd:/other\n0::/"


@pytest.mark.parametrize(("files", "expected"), [
    ({"self": SECOND, "cgroup/user/job/cpu.max": "150000 100000"}, 1.5),
    ({"self": SECOND, "cgroup/user/job/cpu.max": "max 100000", "cgroup/user/cpu.max": "300000 100000"}, 3.0),
    ({"self": SECOND, "cgroup/user/job/cpu.max": "max 100000"}, None),
    ({"self": SECOND, "cgroup/cpu.max": "50000 100000"}, 0.5),
    ({"self": FIRST, "cgroup/cpu/job/cpu.cfs_quota_us": "250000", "cgroup/cpu/job/cpu.cfs_period_us": "100000"}, 2.5),
    ({"self": FIRST, "cgroup/cpu/cpu.cfs_quota_us": "100000", "cgroup/cpu/cpu.cfs_period_us": "100000"}, 1.0),
    ({"self": FIRST, "cgroup/cpu/job/cpu.cfs_quota_us": "-1", "cgroup/cpu/job/cpu.cfs_period_us": "100000"}, None),
    ({"self": "nonsense", "cgroup/cpu.max": "nonsense"}, None),
    ({"cgroup/cpu.max": "200000 100000"}, 2.0),
    ({}, None),
])
def test_a_quota_of_processors_is_the_least_of_the_groups_around(tmp_path, files, expected):
    assert groups.cpu_quota(*made(tmp_path, files)) == expected


@pytest.mark.parametrize(("limit", "free"), [("1000000", 700000), ("max", None), ("300000", 0)])
@pytest.mark.parametrize("group", ["", "user/job/"])
def test_the_limit_of_memory_of_version_2_counts(tmp_path, limit, free, group):
    files = {"max": limit, "current": "500000", "stat": "anon 5\ninactive_file 200000"}
    found = {"self": SECOND} | {f"cgroup/{group}memory.{name}": text for name, text in files.items()}
    assert groups.free_memory(*made(tmp_path, found)) == free
    assert groups.free_memory(tmp_path / "missing", tmp_path / "missing") is None


@pytest.mark.parametrize(("limit", "free"), [("1000000", 700000), ("9223372036854771712", None), ("300000", 0)])
def test_the_limit_of_memory_of_version_1_counts(tmp_path, limit, free):
    files = {"limit_in_bytes": limit, "usage_in_bytes": "500000", "stat": "inactive_file 7\ntotal_inactive_file 200000"}
    found = {"self": FIRST} | {f"cgroup/memory/job/memory.{name}": text for name, text in files.items()}
    assert groups.free_memory(*made(tmp_path, found)) == free
