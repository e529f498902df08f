"""How whole lines are spoken: what language models answer, news and sports say, people write in messages."""

from __future__ import annotations

from typing import Final

ANSWERS: Final[dict[str, dict[str, str]]] = {
    "persons and letters that are no numerals": {
        "No. I have 3 cats.": "No. I have three cats.",
        "The number I gave you has 3 digits.": "The number I gave you has three digits.",
        "the part I like is on page 5": "the part I like is on page five",
        "A Type C charger costs $5.": "A Type C charger costs five dollars.",
        "Part C and Part D cost $185.": "Part C and Part D cost one hundred eighty five dollars.",
        "Vol. I, Part I, level V and No. II": "Volume one, Part one, level five and Number two",
        "Super Bowl LVIII, Chapter XCIX, Part MDCLXIV": (
            "Super Bowl fifty eight, Chapter ninety nine, Part one thousand six hundred sixty four"
        ),
        "Chapter IIX is no chapter, Henry IIX no king.": "Chapter IIX is no chapter, Henry IIX no king.",
    },
    "digits that are and are not read one by one": {
        "the code: 123-456, PIN 789 012": "the code: one two three, four five six, PIN seven eight nine, zero one two",
        "030 123456, not 030 12345": (
            "zero three zero, one two three four five six, not zero three zero twelve thousand three hundred forty five"
        ),
        "It costs \u00a53.50.": "It costs three point five zero yen.",
    },
    "scores, votes and spans of units": {
        "They lead 4-3 in the bottom of the 9th.": "They lead four to three in the bottom of the ninth.",
        "We lost 5\u20134 in overtime, 3-0 in sets.": "We lost five to four in overtime, three to zero in sets.",
        "Between 2010-2015 in Europe, a 5-4 us win": (
            "Between twenty ten and twenty fifteen in Europe, a five to four us win"
        ),
        "Expect 4-6 in. of snow, 2-3 in deep.": "Expect four to six inches of snow, two to three inches deep.",
        "Let rest 5-10 min. before slicing.": "Let rest five to ten minutes before slicing.",
        "It's 2-3x faster and 5x-10x cheaper.": "It's two to three times faster and five times to ten times cheaper.",
        "a 2-in-1 laptop, a 1-in-5 chance, a 5-in pipe": "a two in one laptop, a one in five chance, a five inch pipe",
        "The wall is 6-ft, the 6-ft wall.": "The wall is six feet, the six foot wall.",
        "Add 2-3 tbsp. butter for 10-15 min.": "Add two to three tablespoons butter for ten to fifteen minutes.",
    },
    "so much per something": {
        "Oil fell to $68.45/barrel, gas to $3.99/gallon.": (
            "Oil fell to sixty eight dollars and forty five cents per barrel, gas to three dollars and ninety nine "
            "cents per gallon."
        ),
        "Tickets are $20-30/ticket and $0.5/1K tokens": (
            "Tickets are twenty to thirty dollars per ticket and fifty cents per one K tokens"
        ),
        "It is $9.99/mo. or $99/yr.": (
            "It is nine dollars and ninety nine cents per month or ninety nine dollars per year."
        ),
        "Speed is in km/h here.": "Speed is in kilometers per hour here.",
        "Speed is in km/h, all 5 of them.": "Speed is in kilometers per hour, all five of them.",
        "a 50 mg/kg dose at 0.5 g/L and 60 L/min": (
            "a fifty milligram per kilogram dose at zero point five grams per liter and sixty liters per minute"
        ),
        "24.5 kg/m\u00b2, 10 kWh/day, 7.66 km/s.": (
            "twenty four point five kilograms per square meter, ten kilowatt hours per day, seven point six six "
            "kilometers per second."
        ),
    },
    "powers and unknowns": {
        "3 \u00d7 10\u2078 m/s, or 3 x 10^8 m/s": (
            "three times ten to the eight meters per second, or three times ten to the power of eight meters per second"
        ),
        "1.67 \u00d7 10\u207b\u00b2\u2077 kg at 9.81 m/s^2": (
            "one point six seven times ten to the minus twenty seven kilograms at nine point eight one meters per "
            "second squared"
        ),
        "2x + 5 = 11": "two x plus five equals eleven",
        "y = 3x\u00b2 - 2x - 1": "y equals three x squared minus two x minus one",
        "Node 20.x is 2x faster - 3x at best.": "Node twenty point x is two times faster - three times at best.",
    },
    "roads and directions": {
        "Turn left onto N Main St. and stay.": "Turn left onto North Main Street and stay.",
        "In 1/4 mile, turn right onto W 42nd St": "In one quarter mile, turn right onto West forty second Street",
        "Take exit 4 for NJ-17 N, then CA-1 S.": "Take exit four for NJ seventeen North, then CA one South.",
        "the corner of Main St. and Oak Ave.": "the corner of Main Street and Oak Avenue.",
        "It is 10 mi SW of Austin, 30 miles W of us, moving NNW.": (
            "It is ten miles southwest of Austin, thirty miles west of us, moving north northwest."
        ),
        "Winds: NW 10 mph": "Winds: northwest ten miles per hour",
        "Mr. & Mrs. Smith": "Mister and Missus Smith",
        "the E Street Band": "the E Street Band",
    },
    "codes and dates": {
        "Your code is 042-917, the code 482 913, the OTP is 839201.": (
            "Your code is zero four two, nine one seven, the code four eight two, nine one three, the OTP is eight "
            "three nine, two zero one."
        ),
        "the card ending in 4242, the year ending in 2024": (
            "the card ending in four two four two, the year ending in twenty twenty four"
        ),
        "They called 911; the 911 operator has 20/20 vision.": (
            "They called nine one one; the nine one one operator has twenty twenty vision."
        ),
        "Meeting ID: 823 4567 8901": "Meeting ID: eight two three, four five six seven, eight nine zero one",
        "RSVP by 5/1, or before 12/25 if you must.": "RSVP by May first, or before December twenty fifth if you must.",
        "The 11/21 call has moved to 11/24.": "The November twenty first call has moved to November twenty fourth.",
        "from 11/21 to 11/28, Friday (11/21) and the week of 11/24": (
            "from November twenty first to November twenty eighth, Friday (November twenty first) and the "
            "week of November twenty fourth"
        ),
        "It fell to 7/15 of it, by 1/3 to 3/4.": "It fell to seven fifteenths of it, by one third to three quarters.",
        "on 3-5 November, or the 12th\u201314th of May": (
            "on the third to the fifth of November, or the twelfth to the fourteenth of May"
        ),
        "14 March 1879 \u2013 18 April 1955": (
            "the fourteenth of March, eighteen seventy nine to the eighteenth of April, nineteen fifty five"
        ),
    },
    "signs and menus": {
        "Bake at 400\u00baF, not at 180\u00ba or 20 \u02daC.": (
            "Bake at four hundred degrees Fahrenheit, not at one hundred eighty degrees or twenty degrees Celsius."
        ),
        "<speak>Wait<break time='500ms'/> there.</speak>": "Wait there.",
        "Press <kbd>Tab</kbd> if x<y or <table><tr><td>a": "Press Tab if x less than y or a",
        "2/3rds of it, 1/4th of that": "two thirds of it, one quarter of that",
        "A high of 12C, a low of 3C.": "A high of twelve degrees Celsius, a low of three degrees Celsius.",
        "Go to **Settings** > **Privacy & Security** > About.": "Go to Settings, Privacy and Security, About.",
        "if x > y, or profit > loss": "if x greater than y, or profit greater than loss",
        "Press * to hear it again, dial *67, press **Enter**.": (
            "Press star to hear it again, dial star sixty seven, press Enter."
        ),
        "a Ph.D. in notes.txt": "a PHD in notes dot txt",
    },
    "marks with a backslash, which are not meant as marks": {
        "It costs \\$5 to \\$1,000, 50\\% less at AT\\&T\\!": (
            "It costs five dollars to one thousand dollars, fifty percent less at AT and T!"
        ),
        "a \\*star\\*, my\\_file, \\`code\\` and 2 \\* 3": "a star, my file, code and two times three",
        '\\# one, he said \\"yes\\", \\~5': 'one, he said "yes", about five',
        "it\\'s": "it's",
        "1\\. First": "one. First",
        "in 2024\\.": "in twenty twenty four.",
        "\\- an item": "an item",
        "$50\\%$ is \\(5\\%\\) more than 5\\$, and C:\\temp\\x": (
            "fifty percent is five percent more than five dollars, and C colon backslash temp backslash x"
        ),
    },
    "games, flights and engines": {
        "Lakers vs Celtics, 5 vs. 3, Roe v. Wade": "Lakers versus Celtics, five versus three, Roe versus Wade",
        "It leaves at 7:45a and lands 11:10p.": "It leaves at seven forty five AM and lands eleven ten PM.",
        "a V8 engine, v2 of it": "a V eight engine, version two of it",
    },
    "formulas": {
        "So $E = mc^2$ and $$\\frac{a}{b}$$.": "So E equals mc squared and a over b.",
        "\\(x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}\\)": (
            "x equals minus b plus or minus square root of b squared minus four a c over two a"
        ),
        "Since $2x = 6$, $x_1 = 3$ at $90^\\circ$.": "Since two x equals six, x one equals three at ninety degrees.",
        "$\\frac{x^{2}}{4}$, $\\sqrt{x_{2}}$ and \\(y^{3}\\) at $20^{\\circ}$": (
            "x squared over four, square root of x two and y cubed at twenty degrees"
        ),
        "$e^{-\\frac{x^{2}}{2}}$ and $\\frac{1}{\\sqrt{\\frac{a}{2^{n}}}}$": (
            "e to the power of minus x squared over two and one over square root of a over two to the power of n"
        ),
        "$\\frac12$, $\\frac{n}3$, $\\sqrt2$, $\\sqrt[3]{8}$, $\\sqrt[n]{x}$": (
            "one over two, n over three, square root of two, cube root of eight, root n of x"
        ),
        "$\\sum_{i=1}^{n} i^2$, $\\int_0^\\infty x dx$ and $\\prod\\limits_k^{2n} k$": (
            "sum from i equals one to n of i squared, integral from zero to infinity of x dx and "
            "product from k to two n of k"
        ),
        "With $E = m c^2$, $x = \\frac{\\text{all of the cats}}{2}$ and $$\\int x dx$$ it ends.": (
            "With E equals m c squared, x equals all of the cats over two and integral x dx it ends."
        ),
        "set $HOME and then the $PATH to it, not $x and so on, for US$.": (
            "set dollar HOME and then the dollar PATH to it, not dollar x and so on, for US dollar."
        ),
        "So $x^2$ it is.": "So x squared it is.",
        "It costs $5 and then $10, $AAPL and $TSLA.": (
            "It costs five dollars and then ten dollars, dollar AAPL and dollar TSLA."
        ),
    },
    "spans of time, sheets and cups": {
        "It is 5-6:30pm, then 11:30-12.": "It is five to six thirty PM, then eleven thirty to twelve.",
        "9\u201310:30 AM and 5:30-6pm": "nine to ten thirty AM and five thirty to six PM",
        'an 8"x10" sheet, 12" x 18"': "an eight inch by ten inches sheet, twelve inches by eighteen inches",
        "2 c. flour and 1/2 c. sugar": "two cups flour and one half cup sugar",
        "Page 5 c. Then": "Page five c. Then",
    },
    "sums and short words": {
        "12 \u00d7 12 = 144, but a 48 x 36 board": (
            "twelve times twelve equals one hundred forty four, but a forty eight by thirty six board"
        ),
        "What is 25 x 14?": "What is twenty five times fourteen?",
        "min. 2 GB w/in 5 min. or so": "minimum two gigabytes within five minutes or so",
    },
}
