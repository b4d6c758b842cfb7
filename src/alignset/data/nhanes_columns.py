"""Which of the 198 NHANES columns are features, which are labels, and why the rest are left out.

For every task; ``nhanes_tasks`` says which features a task has to leave out besides.
"""

from __future__ import annotations

OBSERVED = "DoctorToldYouHaveDiabetes"
GLYCOHAEMOGLOBIN = "Glycohemoglobin"
INSULIN = "TakingInsulinNow"
PILLS = "TakeDiabeticPillsToLowerBloodSugar"
AGE = "AgeInYearsAtScreening"
RACE = "RacehispanicOriginWNhAsian"
SEX = "Gender"
PERSON = "SEQN"
PREDIABETES = "EverToldYouHavePrediabetes"
TOLD_WEIGHT = "CurrentSelfreportedWeightPounds"
TOLD_HEIGHT = "CurrentSelfreportedHeightInches"
BODY_MASS_INDEX = "BodyMassIndexKgm2"
FIRST_DAY, SECOND_DAY = "DR1TOT", "DR2TOT"
"""How the columns of the two days of diet end."""

_NUTRIENTS = """
    EnergyKcal ProteinGm CarbohydrateGm TotalSugarsGm DietaryFiberGm TotalFatGm
    TotalSaturatedFattyAcidsGm TotalMonounsaturatedFattyAcidsGm TotalPolyunsaturatedFattyAcidsGm
    CholesterolMg AlcoholGm """

TOPICS: dict[str, str] = {
    "demographics": f"""
    {AGE} ServedActiveDutyInUsArmedForces TotalNumberOfPeopleInTheHousehold
    TotalNumberOfPeopleInTheFamily OfChildren5YearsOrYoungerInHh OfChildren617YearsOldInHh
    OfAdults60YearsOrOlderInHh AnnualHouseholdIncome AnnualFamilyIncome RatioOfFamilyIncomeToPoverty
    """,
    "body measures": f"WeightKg StandingHeightCm {BODY_MASS_INDEX} WaistCircumferenceCm",
    "blood pressure": """
    60SecPulse30SecPulse2 SystolicBloodPres1StRdgMmHg DiastolicBloodPres1StRdgMmHg
    SystolicBloodPres2NdRdgMmHg DiastolicBloodPres2NdRdgMmHg SystolicBloodPres3RdRdgMmHg
    DiastolicBloodPres3RdRdgMmHg
    """,
    "lipids": "DirectHdlcholesterolMgdl TotalCholesterolMgdl",
    "diet, first day": " ".join(f"{nutrient}_{FIRST_DAY}" for nutrient in _NUTRIENTS.split()),
    "diet, second day": " ".join(f"{nutrient}_{SECOND_DAY}" for nutrient in _NUTRIENTS.split()),
    "meals": """
    OfMealsNotHomePrepared OfMealsFromFastFoodOrPizzaPlace OfReadytoeatFoodsInPast30Days
    OfFrozenMealspizzaInPast30Days
    """,
    "activity": """
    VigorousWorkActivity ModerateWorkActivity WalkOrBicycle VigorousRecreationalActivities
    ModerateRecreationalActivities MinutesSedentaryActivity
    """,
    "smoking": """
    SmokedAtLeast100CigarettesInLife SmokedTobaccoLast5Days UsedAnyTobaccoProductLast5Days
    AvgCigarettesdayDuringPast30Days
    """,
    "insurance": "CoveredByHealthInsurance",
}
"""Topic -> features that are numbers."""
NUMERIC: tuple[str, ...] = tuple(" ".join(TOPICS.values()).split())
"""Features that are numbers or yes/no (1/0)."""

_ANSWERS = f"""
    {SEX} {RACE} EducationLevelAdults20 MaritalStatus HowHealthyIsTheDiet
    Past30DayMilkProductConsumption HowOftenAddSaltToFoodAtTable DoYouNowSmokeCigarettes
    GeneralHealthCondition """
CATEGORICAL: tuple[str, ...] = tuple(_ANSWERS.split())
"""Features that are one of a few answers."""

NOT_ANSWERS: dict[str, dict[float, float | None]] = {
    "OfMealsNotHomePrepared": {5555: 22, 7777: None, 9999: None},
    "OfMealsFromFastFoodOrPizzaPlace": {5555: 22, 9999: None},
    "OfReadytoeatFoodsInPast30Days": {6666: 91, 9999: None},
    "OfFrozenMealspizzaInPast30Days": {6666: 91, 9999: None},
    "MinutesSedentaryActivity": {7777: None, 9999: None},
    "AvgCigarettesdayDuringPast30Days": {777: None, 999: None},
    TOLD_WEIGHT: {7777: None, 9999: None},
    TOLD_HEIGHT: {7777: None, 9999: None},
}
"""Codes for "more than 21", "more than 90", "refused" (7s) and "don't know" (9s)."""

_WHY: dict[str, str] = {
    "identifies the person; used as Table.individuals": PERSON,
    "decides the observed or the true label": f"{OBSERVED} {GLYCOHAEMOGLOBIN} {INSULIN} {PILLS}",
    "asked about, or only of people with or without, a diabetes diagnosis: leaks it": """
    AgeWhenFirstToldYouHadDiabetes EverToldYouHavePrediabetes EverToldHaveHealthRiskForDiabetes
    FamilyHistory WhatWasYourLastA1CLevel
    """,
    "a diet is often prescribed because of the diagnosis: leaks it": """
    OnSpecialDiet WeightLosslowCalorieDiet LowFatlowCholesterolDiet LowSaltlowSodiumDiet
    DiabeticDiet LowCarbohydrateDiet
    """,
    "weight loss is often advised because of the diagnosis: may leak it": """
    TriedToLoseWeightInPastYear TimesLost10LbsOrMoreToLoseWeight
    """,
    "another diagnosis by a doctor: as unevenly observed as diabetes, and outside the topics": """
    EverBeenToldYouHaveAsthma DoctorEverSaidYouHadArthritis EverToldYouHadHeartAttack
    AgeWhenToldYouHadHeartAttack EverToldYouHadAStroke AgeWhenToldYouHadAStroke
    EverToldYouHadCancerOrMalignancy 1StCancerWhatKindWasIt Age1StCancerMcq230ADiagnosed
    EverToldDoctorHadTroubleSleeping
    """,
    "asked of, or measured in, children only: empty for adults": """
    EverBreastfedOrFedBreastmilk AgeStoppedBreastfeedingdays AgeFirstFedFormuladays
    AgeStoppedReceivingFormuladays AgeStartedOtherFoodbeverage AgeFirstFedMilkdays
    TypeOfMilkFirstFedWholeMilk TypeOfMilkFirstFed2Milk TypeOfMilkFirstFed1Milk
    TypeOfMilkFirstFedFatFreeMilk TypeOfMilkFirstFedSoyMilk TypeOfMilkFirstFedOther
    AttendKindergartenThruHighSchool SchoolServesSchoolLunches OfTimesweekGetSchoolLunch
    SchoolLunchFreeReducedOrFullPrice SchoolServeCompleteBreakfastEachDay
    OfTimesweekGetSchoolBreakfast SchoolBreakfastFreereducedfullPrice
    SummerProgramMealFreereducedPrice EducationLevelChildrenyouth619 AgeInMonthsAtScreening0To24Mos
    RecumbentLengthCm 60SecHr30SecHr2
    """,
    "asked of, or measured in, people under 60 only: missingness is age": """
    TrunkFatG TrunkPercentFat TotalPercentFat
    """,
    "asked of people over 60 only: missingness is age": """
    CommunitygovernmentMealsDelivered EatMealsAtCommunityseniorCenter
    """,
    "the same is measured or coded by a feature that is kept": """
    RacehispanicOrigin CurrentSelfreportedHeightInches CurrentSelfreportedWeightPounds
    """,
    "asked only after a certain answer, which a feature that is kept already tells": """
    YouDrinkWholeOrRegularMilk YouDrink2FatMilk YouDrink1FatMilk YouDrinkFatFreeskimMilk
    YouDrinkSoyMilk YouDrinkAnotherTypeOfMilk LookedUpMyPlateOnInternet TriedMyPlatePlan
    DaysSmokedCigarettesLast5Days CigarettesSmokedPerDay DaysSmokedCigsDuringPast30Days
    TriedToQuitSmoking TimesStoppedSmokingCigarettes HowLongWereYouAbleToStopSmoking
    UnitOfMeasureDayweekmonthyear_2_SMQ AgeStartedSmokingCigarettesRegularly
    """,
    "one food or one habit, some of long ago; features that are kept tell today's diet": """
    RegularMilkUse5TimesPerWeek HowOftenDrankMilkAge512 HowOftenDrankMilkAge1317
    HowOftenDrankMilkAge1835 HeardOfMyPlate MainMealPlannerpreparer SharedMealPlanningpreparingDuty
    MainFoodShopper SharedFoodShoppingDuty TunaEatenDuringPast30Days
    """,
    "outside the topics: demographics, body, blood pressure, lipids, diet, activity, "
    "smoking, self-rated health, insurance": """
    HaveSeriousDifficultyHearing HaveSeriousDifficultySeeing HaveSeriousDifficultyConcentrating
    HaveSeriousDifficultyWalking HaveDifficultyDressingOrBathing HaveDifficultyDoingErrandsAlone
    HowOftenDoYouFeelWorriedOrAnxious TakeMedicationForTheseFeelings HowOftenDoYouFeelDepressed
    TakeMedicationForDepression UsualSleepTimeOnWeekdaysOrWorkdays UsualWakeTimeOnWeekdaysOrWorkdays
    SleepHoursWeekdaysOrWorkdays HowOftenDoYouSnore HowOftenFeelOverlySleepyDuringDay
    HaveLittleInterestInDoingThings FeelingDownDepressedOrHopeless TroubleSleepingOrSleepingTooMuch
    FeelingTiredOrHavingLittleEnergy PoorAppetiteOrOvereating FeelingBadAboutYourself
    TroubleConcentratingOnThings MovingOrSpeakingSlowlyOrTooFast ThoughtYouWouldBeBetterOffDead
    DifficultyTheseProblemsHaveCaused ExperienceConfusionmemoryProblems
    PhysicalMentalEmotionalLimitations DifficultyManagingMoney EverUsedMarijuanaOrHashish
    DaysUsedMarijuanaOrHashishmonth EverUsedCocaineheroinmethamphetamine EverUseAnyFormOfCocaine
    OfDaysUsedCocainemonth EverUsedHeroin OfDaysUsedHeroinmonth EverUsedMethamphetamine
    DaysUsedMethamphetaminemonth EverBeenInRehabilitationProgram BloodLeadUgdl BloodCadmiumUgl
    BloodMercuryTotalUgl BloodSeleniumUgl BloodManganeseUgl
    """,
}
"""Reason that columns are not features -> the columns."""

EXCLUDED: dict[str, str] = {name: why for why, names in _WHY.items() for name in names.split()}
"""Column -> why it is not a feature. Together with the features, every column of the file."""
