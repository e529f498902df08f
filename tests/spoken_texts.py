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
        "It is 5 mg per kg. Count 80 beats per min, 10 m per s at $3 per sq. ft.": (
            "It is five milligrams per kilogram. Count eighty beats per minute, ten meters per second at three dollars "
            "per square foot."
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
    "pairs with a slash": {
        "1/4-1/2 tsp, 1/2\u20131 cup, \u2156 cup and 150 ml/\u00bc pint": (
            "one quarter to one half teaspoon, one half to one cup, two fifths cup and one hundred fifty milliliters, "
            "one quarter pint"
        ),
        "Step 1/5: mix. PART 2/3 of it.": "Step one of five: mix. PART two of three of it.",
        "A 4/4 beat, then 3/4 time, then in 6/8, in 3/4 of cases": (
            "A four four beat, then three four time, then in six eight, in three quarters of cases"
        ),
        "the 80/20 rule, a BP of 60/40, the 2019/20 season": (
            "the eighty twenty rule, a BP of sixty over forty, the twenty nineteen to twenty season"
        ),
        "India 287/4": "India two hundred eighty seven over four",
        "on 12/24-12/26, Tue 3/12 @ 10:00": (
            "on December twenty fourth to December twenty sixth, Tuesday, March twelfth at ten o'clock"
        ),
    },
    "clocks and plurals": {
        "a 4:03.22 mile, 1:02:03.5 in all, 10K in 38:42, a ratio of 60:40": (
            "a four oh three point two two mile, one two oh three point five in all, ten K in thirty eight forty two, "
            "a ratio of sixty to forty"
        ),
        "at 0700 hrs, at 1430 hours, 1400 hrs of work": (
            "at zero seven hundred hours, at fourteen thirty hours, one thousand four hundred hours of work"
        ),
        "09:15:02 +0100, and 8-5, M-F": (
            "nine fifteen and two seconds UTC plus one, and eight to five, Monday to Friday"
        ),
        "U-21s, F-16s, 2x4s and two 747s in the low 100s": (
            "U twenty ones, F sixteens, two by fours and two seven forty sevens in the low hundreds"
        ),
        "40\u00b026\u203246\u2033N or 40\u00b0 26.7'": (
            "forty degrees twenty six minutes forty six seconds north or forty degrees twenty six point seven minutes"
        ),
        "He is 5'9\u00bd\" tall.": "He is five feet nine and a half tall.",
    },
    "names that machines have": {
        "Upgrade to 1.5.0-beta.3 or v2.0.0-rc.1 of java.lang.Math.Max": (
            "Upgrade to one point five point zero-beta dot three or version two point zero point zero-rc dot one of "
            "java dot lang dot Math dot Max"
        ),
        "00:1A:2B:3C:4D:5E has fe80::1 in 192.168.1.0/24": (
            "zero zero, one A, two B, three C, four D, five E has F E eight zero colon colon one in one hundred ninety "
            "two point one hundred sixty eight point one point zero slash twenty four"
        ),
        "std::vector at 10:30:45": "std::vector at ten thirty and forty five seconds",
        "commit a1b2c3d at 0xFF, order ABC1234567, defaced": (
            "commit A one B two C three D at zero X F F, order ABC one two three, four five six seven, defaced"
        ),
        "Run `ls -la`, then `rm -rf dist` -but not now": "Run ls dash la, then rm dash rf dist -but not now",
        "git reset HEAD~3, npm ^9.6, ~5 km": (
            "git reset HEAD tilde three, npm caret nine point six, about five kilometers"
        ),
        "Put <your-name> into a List<String> if x<y and y>z.": (
            "Put your name into a List of String if x less than y and y greater than z."
        ),
        "list[0] = i[1], as known[1]": "list[zero] equals i[one], as known",
        "area = width * height, `a * b`, SELECT * FROM it, ** bold ** words": (
            "area equals width times height, a times b, SELECT star FROM it, bold words"
        ),
        "Text HOME to 741741, card **** **** **** 4242 or card \u2022\u2022\u2022\u2022 1234": (
            "Text HOME to seven four one, seven four one, card ending in four two four two or card ending in one two "
            "three four"
        ),
        "\u00af\\_(\u30c4)_/\u00af Well :D ^_^": "Well",
    },
    "short words": {
        "$1.39 est., est. 1920, est. in 1985, est. time 5 min, up 12% YoY": (
            "one dollar and thirty nine cents estimated, established nineteen twenty, established in nineteen eighty "
            "five, estimated time five minutes, up twelve percent year over year"
        ),
        "12 mph (NNW), turn R onto A40, then keep L.": (
            "twelve miles per hour (north northwest), turn right onto A forty, then keep left."
        ),
        "CHAPTER IV, PART I: it is THE PART I LIKE": "CHAPTER four, PART one: it is THE PART I LIKE",
        "300 BC\u2013AD 200, c. 1450 (b. 1962, d. 1999), 2 c. flour, the 18th c. too": (
            "three hundred BC to AD two hundred, circa fourteen fifty (born nineteen sixty two, died nineteen ninety "
            "nine), two cups flour, the eighteenth century too"
        ),
        "\u00a7\u00a7 12-15 in seats 14A-14C": "sections twelve to fifteen in seats fourteen A to fourteen C",
        "qty. 2 for Maj. Gen. Smith of Acme Ltd., Leeds, M.Sc. too": (
            "quantity two for Major General Smith of Acme Limited, Leeds, MSC too"
        ),
        "Pick **File** > Save As\u2026 > PDF": "Pick File, Save As\u2026, PDF",
    },
    "money of the world": {
        "\u20b91,00,000 and Rs. 12,50,000 or \u20b1200": (
            "one hundred thousand rupees and one million two hundred fifty thousand rupees or two hundred pesos"
        ),
        "a $3.5-billion deal, S$5.50, EUR/USD 1.0843": (
            "a three point five billion dollar deal, five Singapore dollars and fifty cents, EUR USD one point zero "
            "eight four three"
        ),
    },
    "signs of music and sums": {
        "Op. 27 No. 2 in C\u266f minor, then E\u266d, F#m and Bb major": (
            "Opus twenty seven Number two in C sharp minor, then E flat, F sharp m and B flat major"
        ),
        "\u03a3 i = n(n+1)/2, x/2 = 3, 1/n at f/1.8, y/n": (
            "\u03a3 i equals n(n plus one) over two, x over two equals three, one over n at f one point eight, y or n"
        ),
        "5! = 120, \u222b x dx, x \u2208 A \u222a B, \u2220ABC, 2\u207f, x\u2099": (
            "five factorial equals one hundred twenty, integral of x dx, x in A union B, angle ABC, two to the n, x n"
        ),
        "AAPL \u2191 5%, TSLA \u21933.2%": "AAPL up five percent, TSLA down three point two percent",
        "The capital is Paris\u00b9. He said so,\u00b2 on 20 meters\u00b2.": (
            "The capital is Paris. He said so, on twenty meters squared."
        ),
        "\u00b9 Since 987": "Since nine hundred eighty seven",
        "v = velocity\u00b2": "v equals velocity squared",
        "$\\int_0^1 x^2 dx$, \\(\\sum_{i=1}^{n} i\\), $\\lim_{x \\to 0} x$": (
            "integral from zero to one of x squared dx, sum from i equals one to n of i, limit as x to zero of x"
        ),
        "$$\\begin{align*} x &= 2 \\\\ y &= 3 \\end{align*}$$": "x equals two, y equals three",
        "+ \\sqrt{2} \\) and \\( \\frac{a}{b} +": "square root of two and a over b plus",
    },
    "spans, shares and shops": {
        "at 8 a.m. & 8 p.m., 30 min.\u20131 hr., 10k\u201320k, 2-3M": (
            "at eight AM and eight PM, thirty minutes to one hour, ten thousand to twenty thousand, two to three "
            "million"
        ),
        "the '60s\u2013'70s, Dec '25 \u2013 Jan '26": (
            "the sixties to the seventies, December twenty five to January twenty six"
        ),
        "retry 3/10 in 2.5s, 3/5 tasks, 45.2/120.5 MB, 2/$5": (
            "retry three of ten in two point five seconds, three out of five tasks, forty five point two of one "
            "hundred twenty point five megabytes, two for five dollars"
        ),
        "cut it by 3/4 in one go": "cut it by three quarters in one go",
        "U2's song, f/u n/a, a B- for it, y/n": "U two's song, F U N A, a B minus for it, y or n",
        "auto\\|whole, \\# of 2 \\*stars\\*": "auto, whole, pound of two stars",
        "if (a || b) with <stdio.h>": "if (a or b) with stdio dot h",
        "if (a<b) { c>d }, 2**3": "if (a less than b) { c greater than d }, two to the power of three",
        "vitamin c. 1999 and plan b. 2020": "vitamin c. nineteen ninety nine and plan b. twenty twenty",
        "Fe\u00b3\u207a, SO\u2084\u00b2\u207b and \u00b9\u2074C": "Fe three plus, SO four two minus and fourteen C",
    },
    "chapter and verse": {
        "1 Cor. 13:4-7, Gen. 1:1, Psalm 23:4, a ratio of 3:4": (
            "First Corinthians thirteen, four to seven, Genesis one, one, Psalm twenty three, four, a ratio of three "
            "to four"
        ),
        "2 Tim 3:16, call Dan 5:30": "Second Timothy three, sixteen, call Dan five thirty",
        "John 3:16 and Mark at 5:30, Mark 9:30 pm or Mark 9:00": (
            "John three, sixteen and Mark at five thirty, Mark nine thirty PM or Mark nine o'clock"
        ),
    },
    "scales and zones": {
        "Rs. 5 lakh and \u20b92.5 crore": "five lakh rupees and two point five crore rupees",
        "y = 2x, 2x faster, on lap 23/57": "y equals two x, two times faster, on lap twenty three of fifty seven",
        "at 0842 GMT, a 10-yr 4.2% bond, the 3rd c. BC": (
            "at zero eight forty two GMT, a ten year four point two percent bond, the third century BC"
        ),
        "5 \u00d7 400 g, 12 in\u00b3, kg\u00b7m/s\u00b2": (
            "five times four hundred grams, twelve cubic inches, kilogram meters per second squared"
        ),
    },
}
