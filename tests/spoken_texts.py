"""How whole lines are spoken: prescriptions, code, accounts, scores, sheet music, law, chat."""

from __future__ import annotations

from typing import Final

TEXTS: Final[dict[str, dict[str, str]]] = {
    "prescriptions and measures": {
        "Take 0.5 mg/kg q6h, ibuprofen q4-6h as needed.": (
            "Take zero point five milligrams per kilogram every six hours, ibuprofen every four to six hours as needed."
        ),
        "Give 250 mg/5 mL, max 1,200 mg/24h.": (
            "Give two hundred fifty milligrams per five milliliters, max one thousand two hundred milligrams per "
            "twenty four hours."
        ),
        "5 \u00b5g/kg/min, 75 mcg, 13.5 g/dL and 4.2 mmol/L": (
            "five micrograms per kilogram per minute, seventy five micrograms, thirteen point five grams per deciliter "
            "and four point two millimoles per liter"
        ),
        "a 14 oz/400 ml can, 4 L/100 km": (
            "a fourteen ounce, four hundred milliliters can, four liters per one hundred kilometers"
        ),
        "A 67 y/o with a pulse of 110/min, b.i.d. since May": (
            "A sixty seven year old with a pulse of one hundred ten per minute, BID since May"
        ),
        "It is 2.3 x 1.8 x 1.5 cm, and 5 x 3 x 2 = 30.": (
            "It is two point three by one point eight by one point five centimeters, and five times three times two "
            "equals thirty."
        ),
        "2 x 400 g cans and 1 (14.5-oz) can": (
            "two times four hundred gram cans and one (fourteen point five ounce) can"
        ),
        "up 0.5pp, on 240 pp. in all, at 29.92 inHg": (
            "up zero point five percentage points, on two hundred forty pp. in all, at twenty nine point nine two "
            "inches of mercury"
        ),
        "2 sq. in. of it at 10 ft-lbs": "two square inches of it at ten foot pounds",
    },
}
