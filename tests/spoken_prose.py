"""Ordinary prose with letters and numbers that look like something else."""

from __future__ import annotations

from typing import Final

PROSE: Final[dict[str, dict[str, str]]] = {
    "names, words and states that look like short forms": {
        "Give it to Max. He thanked Max. Max. speed is low.": "Give it to Max. He thanked Max. Maximum speed is low.",
        "Ask Jan. She knows. We met in Jan. and Feb. of last year.": (
            "Ask Jan. She knows. We met in January and February of last year."
        ),
        "They drove to Del Mar. The beach was empty.": "They drove to Del Mar. The beach was empty.",
        "The name is quite apt. I like it. My apt. is small, try apt. 5.": (
            "The name is quite apt. I like it. My apartment is small, try apartment five."
        ),
        "It starts at 8 p.m. EST. We watch it in Los Angeles, CA. She has CF. He used APT.": (
            "It starts at eight PM EST. We watch it in Los Angeles, CA. She has CF. He used APT."
        ),
        "EST. 1990, est. delivery Monday": "Established nineteen ninety, estimated delivery Monday",
        "Min. order is $20, the min. wage rose, a min. of 5 people": (
            "Minimum order is twenty dollars, the minimum wage rose, a minimum of five people"
        ),
        "Wait a min. please, a few min. more, about forty min.": (
            "Wait a minute please, a few minutes more, about forty minutes."
        ),
    },
    "numerals that are letters": {
        "Start IV fluids. The IV is in place, and your IV line is new. We saw Rocky IV.": (
            "Start IV fluids. The IV is in place, and your IV line is new. We saw Rocky four."
        ),
        "Robert V. Daniels wrote it. Charles V. He ruled Spain. Henry V. of England": (
            "Robert V Daniels wrote it. Charles the fifth. He ruled Spain. Henry the fifth. of England"
        ),
        "Pick a random number X, or type X, in World War II, chapter X": (
            "Pick a random number X, or type X, in World War two, chapter ten"
        ),
    },
    "amounts that look like telephone numbers": {
        "Take 500-1000 mg; 900-1200 calories, between 500-1000 people": (
            "Take five hundred to one thousand milligrams; nine hundred to twelve hundred calories, between five "
            "hundred and one thousand people"
        ),
        "It rose by +12500.50 points to +15000 XP.": (
            "It rose by plus twelve thousand five hundred point five zero points to plus fifteen thousand XP."
        ),
        "Call 555-1000 now, or (800-2000). Caliph (985-1021)": (
            "Call five five five, one zero zero zero now, or (eight zero zero, two zero zero zero). Caliph (nine "
            "hundred eighty five to one thousand twenty one)"
        ),
    },
    "versions, the Sun and old books": {
        "Upgrade to 4.2.12. Node 18.12.10 and PHP 7.4.33 are out.": (
            "Upgrade to four point two point twelve. Node eighteen point twelve point ten and PHP seven point "
            "four point thirty three are out."
        ),
        "The meeting is on 12.05.24.": "The meeting is on December fifth, twenty twenty four.",
        "Light from the Sun 8 minutes ago. Under the Sun, 30 people stood.": (
            "Light from the Sun eight minutes ago. Under the Sun, thirty people stood."
        ),
        "made by Brooks c.1990": "made by Brooks circa nineteen ninety",
    },
    "quotations that end with a number": {
        'Press "Button 1", then "Button 2". It went on till 1917".': (
            'Press "Button one", then "Button two". It went on till nineteen seventeen".'
        ),
        "\u201cLevel 1\u201d and \u201cLevel 2\u201d on a 24\u201d screen": (
            "\u201cLevel one\u201d and \u201cLevel two\u201d on a twenty four inch screen"
        ),
        'He said "it is 5" and "it is 6" of an 8" by 10" photo.': (
            'He said "it is five" and "it is six" of an eight inch by ten inches photo.'
        ),
    },
    "numbers that are things": {
        "Count by 2s, then by 5s. We rolled two 6s and a 4.": (
            "Count by twos, then by fives. We rolled two sixes and a four."
        ),
        "Look at the 1s column; two 30s clips, the 30s timeout, in the 30s": (
            "Look at the ones column; two thirty seconds clips, the thirty seconds timeout, in the thirties"
        ),
        "About 2.5m people, 3m views, a 3m rope": (
            "About two point five million people, three million views, a three meter rope"
        ),
        "It has 802.11ac, or 802.11b/g/n.": "It has eight oh two point eleven A C, or eight oh two point eleven B G N.",
    },
    "dashes, slashes and standards": {
        "From 1964--65, 5--10 minutes. The answer--42--was wrong. One wish--3 more": (
            "From nineteen sixty four to sixty five, five to ten minutes. The answer\u2014forty two\u2014was "
            "wrong. One wish\u2014three more"
        ),
        "ISO 3166-2 in 1998-99, and 1999-00": (
            "ISO three thousand one hundred sixty six two in nineteen ninety eight to ninety nine, and nineteen "
            "ninety nine to zero zero"
        ),
        "1/1,000 second, 12 / 4 is 3": "one over one thousand second, twelve divided by four is three",
        "It costs $2,000 - $107.23, or $5 - $10.": (
            "It costs two thousand dollars minus one hundred seven dollars and twenty three cents, or five to ten"
            " dollars."
        ),
        "A --> B, And/or": "A to B, And or",
    },
    "streets and psalms": {
        "Turn onto Main St. The store is there. I like St. Louis.": (
            "Turn onto Main Street. The store is there. I like Saint Louis."
        ),
        "Psalms 23:4": "Psalms twenty three, four",
    },
    "doors, streets and words before numbers": {
        "Go to Room 204C, with an RS-232C cable. Bake at 350F.": (
            "Go to Room two hundred four C, with an RS two hundred thirty two C cable. Bake at three hundred "
            "fifty degrees Fahrenheit."
        ),
        "VS Code, BATMAN VS SUPERMAN, Lakers VS Celtics": "VS Code, BATMAN versus SUPERMAN, Lakers versus Celtics",
        "He said no. 3 left. I like art. 20 years ago it hung by fig. 3 and no. 5.": (
            "He said no. three left. I like art. twenty years ago it hung by figure three and number five."
        ),
    },
    "what stands behind a slash": {
        "Give it to them/us by 5, foo/bar, 300 dots/in, 5 miles/h": (
            "Give it to them or us by five, foo or bar, three hundred dots per inch, five miles per hour"
        ),
        "Go 1.17.x": "Go one point seventeen point x",
    },
    "counts behind a month, times behind a name": {
        "In June 30 people came, in May 2 of us left. On June 30 people came.": (
            "In June thirty people came, in May two of us left. On June thirtieth people came."
        ),
        "May 5 people come?": "May five people come?",
        "Daniel 5:30 works for me. Meet James 6:15 tonight. James 5:16 says": (
            "Daniel five thirty works for me. Meet James six fifteen tonight. James five, sixteen says"
        ),
        "Order #1234-5678": "Order number one two three four, five six seven eight",
    },
    "letters at the end of a sentence, robots and the young": {
        "Take Vitamin C. It helps. George W. Bush had a plan B. We had none.": (
            "Take Vitamin C. It helps. George W Bush had a plan B. We had none."
        ),
        "R2-D2, sections A1-A4, a 2-yr-old": "R two D two, sections A one to A four, a two year-old",
    },
}
