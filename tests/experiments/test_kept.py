"""Results that are kept as one small file."""

import pytest

from lupi.experiments import read_results
from lupi.experiments.claims import judge_claims
from lupi.experiments.kept import keep_results, read_kept
from lupi.report.claims import claims_table, describe_claims


@pytest.fixture(scope="module")
def kept(smoke_run, tmp_path_factory):
    file = tmp_path_factory.mktemp("kept") / "kept.json"
    keep_results(smoke_run, "lupi reproduce --quick", file)
    return file


def test_what_is_kept_gives_the_same_claims(smoke_run, kept):
    found = read_kept(kept)
    assert found is not None
    ours, theirs = judge_claims(*found[:2]), read_results(smoke_run).claims
    assert [claim["verdict"] for claim in ours] == [claim["verdict"] for claim in theirs]
    assert ours[0]["gain"]["mean"] == pytest.approx(theirs[0]["gain"]["mean"], rel=1e-3)
    assert found[2] == "lupi reproduce --quick"
    assert kept.stat().st_size < 10_000


def test_nothing_is_read_where_nothing_is_kept(tmp_path):
    assert read_kept(tmp_path / "none.json") is None


def test_claims_are_lines_of_a_table(smoke_run):
    claims = describe_claims(read_results(smoke_run).claims)
    lines = claims_table(claims)
    assert len(lines) == 2 + len(claims)
    assert all(line.count("|") == 5 for line in lines)
