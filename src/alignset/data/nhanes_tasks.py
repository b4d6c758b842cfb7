"""What NHANES asked or measured twice, once well and once badly: one record per task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import pandas as pd

from alignset.data import nhanes_columns as columns
from alignset.data.nhanes_values import read_number

if TYPE_CHECKING:
    Flags: TypeAlias = "pd.Series[bool]"
    Numbers: TypeAlias = "pd.Series[float]"
    Rule: TypeAlias = Callable[[pd.DataFrame], Flags]

TaskName = Literal[
    "diabetes", "prediabetes", "blood_pressure", "fat", "overweight", "obesity_class_2"
]
"""Every task by name."""

DEFAULT: TaskName = "diabetes"
"""The task if none is named."""

ADULT = 20
"""Age in years from which people are in."""
DIABETES, PREDIABETES = 6.5, 5.7
"""Glycohaemoglobin, in per cent, at or above which blood shows it."""
SYSTOLIC, DIASTOLIC = 130, 80
"""Blood pressure, in mm Hg, at or above which it is high."""
FAT_SHARE, KCAL_PER_GRAM = 0.35, 9
"""Share of energy above which there is much fat, and the energy of fat."""


@dataclass(frozen=True, eq=False)
class NhanesTask:
    """A question with an observed answer and a true one, and what must not be a feature.

    Parameters
    ----------
    name : str
        For ``load_nhanes(task=...)``.
    summary : str
        For ``alignset data list``.
    observed_means, true_means : str
        What class 1 stands for.
    class_names : tuple of str
        The two classes.
    keep : mapping of str to function
        Which adults have both labels: what a filter says, and the filter of the file's rows.
    observed, true : function
        Whether each row of the file is in class 1.
    forbidden : mapping of str to str
        Why columns are no features of this task -> the columns. They define a label, or something
        close to it could be computed from them.
    problems : tuple of str
        What a reader of results has to know.
    """

    name: TaskName
    summary: str
    observed_means: str
    true_means: str
    class_names: tuple[str, str]
    keep: Mapping[str, Rule]
    observed: Rule
    true: Rule
    forbidden: Mapping[str, str]
    problems: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[str, ...]:
        """Features that are numbers or yes/no (1/0)."""
        return tuple(name for name in columns.NUMERIC if name not in self.excluded)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Features that are one of a few answers."""
        return tuple(name for name in columns.CATEGORICAL if name not in self.excluded)

    @property
    def excluded(self) -> dict[str, str]:
        """Column -> why it is no feature: of no task, or not of this one."""
        here = {name: why for why, names in self.forbidden.items() for name in names.split()}
        return columns.EXCLUDED | here

    def keeps(self, rows: pd.DataFrame) -> Flags:
        """Return which rows of the file are adults with both labels."""
        kept = rows[columns.AGE] >= ADULT
        for passes in self.keep.values():
            kept &= passes(rows)
        return kept


def _diabetes() -> NhanesTask:
    return NhanesTask(
        name="diabetes",
        summary="diabetes as told, and as blood shows",
        observed_means="a doctor told them that they have diabetes",
        true_means="glycohaemoglobin of 6.5 % or more, or told and treated with insulin or pills",
        class_names=("no diabetes", "diabetes"),
        keep={
            "with a glycohaemoglobin value": _knows(columns.GLYCOHAEMOGLOBIN),
            'answered the question on being told (not "borderline")': (
                lambda rows: rows[columns.OBSERVED].isin(["0", "1"])
            ),
        },
        observed=_told_diabetes,
        true=_has_diabetes,
        forbidden={},  # what tells of diabetes is a feature of no task
        problems=("See [its own card](nhanes.md#known-problems).",),
    )


def _prediabetes() -> NhanesTask:
    return NhanesTask(
        name="prediabetes",
        summary="prediabetes as told, and as blood shows",
        observed_means="a doctor told them that they have prediabetes",
        true_means="glycohaemoglobin of 5.7 to 6.4 %",
        class_names=("no prediabetes", "prediabetes"),
        keep={
            "not told that they have diabetes": lambda rows: ~_told_diabetes(rows),
            "glycohaemoglobin below 6.5 %": lambda rows: rows[columns.GLYCOHAEMOGLOBIN] < DIABETES,
            "answered whether they were told of prediabetes": _knows(columns.PREDIABETES),
        },
        observed=lambda rows: rows[columns.PREDIABETES] == 1,
        true=lambda rows: rows[columns.GLYCOHAEMOGLOBIN] >= PREDIABETES,
        forbidden={
            "defines a label, or tells of diabetes, its treatment or its laboratory value": f"""
            {columns.OBSERVED} {columns.GLYCOHAEMOGLOBIN} {columns.INSULIN} {columns.PILLS}
            {columns.PREDIABETES} AgeWhenFirstToldYouHadDiabetes EverToldHaveHealthRiskForDiabetes
            FamilyHistory WhatWasYourLastA1CLevel DiabeticDiet
            """,
        },
        problems=(
            'Nobody told "borderline" (of diabetes) is in: they were not asked about prediabetes.',
            "Who was told may have lowered the value since, by pills or by losing weight; the true "
            "label is what blood shows on the day of the examination.",
            "One value is not a diagnosis, and anaemia and haemoglobin variants shift it.",
        ),
    )


def _blood_pressure() -> NhanesTask:
    first, *later = (
        f"Systolic{which} Diastolic{which}".split()
        for which in ("BloodPres1StRdgMmHg", "BloodPres2NdRdgMmHg", "BloodPres3RdRdgMmHg")
    )
    second, third = later
    return NhanesTask(
        name="blood_pressure",
        summary="high blood pressure on one reading, and on the mean of the next two",
        observed_means="the first reading is high: 130 mm Hg or more, or 80 or more diastolic",
        true_means="the mean of the second and third readings is high",
        class_names=("not high", "high"),
        keep={
            "with a first reading": _knows(*first),
            "with a second and a third": _knows(*second, *third),
        },
        observed=lambda rows: _is_high(rows, first),
        true=lambda rows: _is_high(rows, second, third),
        forbidden={"defines a label": " ".join(first + second + third)},
        problems=(
            "One reading varies more than the mean of two, and the first systolic one is the "
            "highest on average: more errors are false alarms than missed.",
            "The truth is one visit, where a diagnosis needs several; whether somebody takes pills "
            "for blood pressure is not in the file.",
            "A diastolic pressure of 0 is a reading in NHANES; leaving it out of the mean would "
            "change no label.",
        ),
    )


def _fat() -> NhanesTask:
    fat, energy = "TotalFatGm", "EnergyKcal"
    first, second = columns.FIRST_DAY, columns.SECOND_DAY

    def ate(day: str) -> Rule:
        return lambda rows: (
            _knows(f"{fat}_{day}")(rows) & (read_number(rows, f"{energy}_{day}") > 0)
        )

    def is_fat(*days: str) -> Rule:
        def rule(rows: pd.DataFrame) -> Flags:
            grams = _sum(rows, *(f"{fat}_{day}" for day in days))
            kcal = _sum(rows, *(f"{energy}_{day}" for day in days))
            return KCAL_PER_GRAM * grams / kcal > FAT_SHARE

        return rule

    return NhanesTask(
        name="fat",
        summary="fat above 35 % of energy on one day, and on two",
        observed_means="fat was more than 35 % of the first day's energy",
        true_means="fat was more than 35 % of the energy of both days together",
        class_names=("35 % or less", "above 35 %"),
        keep={"recalled the first day, and ate": ate(first),
              "recalled the second day, and ate": ate(second)},
        observed=is_fat(first),
        true=is_fat(first, second),
        forbidden={
            "eaten on those days: fat is the sum of fatty acids, energy that of protein, "
            "carbohydrate, fat and alcohol": " ".join(
                columns.TOPICS[topic] for topic in ("diet, first day", "diet, second day")
            ),
        },
        problems=(
            "The first day is half of the truth, and two days are not a habit: this is the noise "
            "of measuring once instead of twice.",
            "A hard task: without what they ate on those days, little in the survey tells how "
            "much of it was fat.",
            "Both days are recalled in an interview, and people forget. Who ate nothing on a day "
            "has no share of fat and is left out.",
        ),
    )  # fmt: skip


def _body_mass_index(name: TaskName, limit: int) -> NhanesTask:
    def told(rows: pd.DataFrame) -> Numbers:
        kilograms = 0.45359237 * read_number(rows, columns.TOLD_WEIGHT)
        return kilograms / (0.0254 * read_number(rows, columns.TOLD_HEIGHT)) ** 2

    told_columns = f"{columns.TOLD_WEIGHT} {columns.TOLD_HEIGHT}"
    return NhanesTask(
        name=name,
        summary=f"body mass index of {limit} or more as told, and as measured",
        observed_means=f"body mass index of {limit} or more by the weight and height they told",
        true_means=f"measured body mass index of {limit} or more",
        class_names=(f"BMI below {limit}", f"BMI {limit} or more"),
        keep={
            "told their weight and height": lambda rows: told(rows).notna(),
            "were weighed and measured": _knows(columns.BODY_MASS_INDEX),
        },
        observed=lambda rows: told(rows) >= limit,
        true=lambda rows: rows[columns.BODY_MASS_INDEX] >= limit,
        forbidden={
            "defines a label": told_columns,
            "measures the body": (
                f"{columns.TOPICS['body measures']} TrunkFatG TrunkPercentFat TotalPercentFat"
            ),
            "asked because of, or done about, weight": """
            TriedToLoseWeightInPastYear TimesLost10LbsOrMoreToLoseWeight WeightLosslowCalorieDiet
            """,
        },
        problems=(
            "7777 (refused) and 9999 (does not know) are no weights or heights; who gave no number "
            "is left out.",
            "The measured index is rounded to one digit in the file, the told one is not.",
            "People were asked at home and weighed later; pregnancy is not in the file.",
        ),
    )


def _told_diabetes(rows: pd.DataFrame) -> Flags:
    return rows[columns.OBSERVED] == "1"


def _has_diabetes(rows: pd.DataFrame) -> Flags:
    treated = (rows[columns.INSULIN] == 1) | (rows[columns.PILLS] == 1)
    measured = rows[columns.GLYCOHAEMOGLOBIN] >= DIABETES
    return measured | (_told_diabetes(rows) & treated)


def _is_high(rows: pd.DataFrame, *readings: list[str]) -> Flags:
    """Compare the mean of the readings (systolic, diastolic) with the limits."""
    systolic, diastolic = (
        _sum(rows, *names) / len(readings) for names in zip(*readings, strict=True)
    )
    return (systolic >= SYSTOLIC) | (diastolic >= DIASTOLIC)


def _sum(rows: pd.DataFrame, *names: str) -> Numbers:
    return pd.concat([read_number(rows, name) for name in names], axis=1).sum(axis=1, skipna=False)


def _knows(*names: str) -> Rule:
    return lambda rows: rows[list(names)].notna().all(axis=1)


TASKS: dict[TaskName, NhanesTask] = {
    task.name: task
    for task in (
        _diabetes(), _prediabetes(), _blood_pressure(), _fat(),
        _body_mass_index("overweight", 25), _body_mass_index("obesity_class_2", 35),
    )
}  # fmt: skip
"""Name -> task."""


def find_task(name: str) -> NhanesTask:
    """Return the task called ``name``.

    Examples
    --------
    >>> find_task("prediabetes").true_means
    'glycohaemoglobin of 5.7 to 6.4 %'
    >>> find_task("gout")
    Traceback (most recent call last):
        ...
    ValueError: task must be 'diabetes', 'prediabetes', 'blood_pressure', 'fat', 'overweight' or
    'obesity_class_2', got 'gout'.
    """
    tasks = {str(known): task for known, task in TASKS.items()}
    if name not in tasks:
        *first, last = map(repr, tasks)
        raise ValueError(f"task must be {', '.join(first)} or {last}, got {name!r}.")
    return tasks[name]
