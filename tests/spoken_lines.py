"""How whole lines are spoken: what a voice assistant, a car, a robot or an appliance is given to say."""

from __future__ import annotations

from typing import Final

LINES: Final[dict[str, dict[str, str]]] = {
    "years of two digits": {
        "It was built in '98.": "It was built in ninety eight.",
        "We moved here back in \u201905.": "We moved here back in oh five.",
        "She is in the class of '00.": "She is in the class of two thousand.",
        "A reunion for the class of 05": "A reunion for the class of oh five",
        "the summer of 69": "the summer of sixty nine",
        "They toured from '98 to '03.": "They toured from ninety eight to oh three.",
        "the '98-'99 season": "the ninety eight to ninety nine season",
        "the 1998-'99 season": "the nineteen ninety eight to ninety nine season",
        "Since June '05 it runs alone.": "Since June oh five it runs alone.",
        "the \u201890s sound": "the nineties sound",
        "The 80s were louder than the '00s.": "The eighties were louder than the two thousands.",
        "He is in his 40s, she in her mid 30s.": "He is in his forties, she in her mid thirties.",
        "Tonight's lows are in the upper 50s.": "Tonight's lows are in the upper fifties.",
        "music of the 70s and 80s": "music of the seventies and eighties",
        "Wait 30s, then stir.": "Wait thirty seconds, then stir.",
        "He wrote '10 km to go' on a stone.": "He wrote 'ten kilometers to go' on a stone.",
        "They shouted '5, 4, 3!'": "They shouted 'five, four, three!'",
    },
    "inches": {
        "The shelf is 12 in wide.": "The shelf is twelve inches wide.",
        "Cut a slot 12 in long and 3 in deep.": "Cut a slot twelve inches long and three inches deep.",
        "Use a 2 in thick board.": "Use a two inch thick board.",
        "A sheet of 12 in by 14 in will do.": "A sheet of twelve inches by fourteen inches will do.",
        "We expect 3 in of snow.": "We expect three inches of snow.",
        "It stands 40 in. tall.": "It stands forty inches tall.",
        "Wake me at 2 in the morning.": "Wake me at two in the morning.",
        "All 5 in high school said so.": "All five in high school said so.",
        "Only 2 in deep water can swim.": "Only two in deep water can swim.",
    },
    "dates in lower case": {
        "remind me on 3 june": "remind me on the third of June",
        "it opened on 17 may 2010": "it opened on the seventeenth of May, twenty ten",
        "book a table on 17 may": "book a table on the seventeenth of May",
        "on may 17 we fly": "on May seventeenth we fly",
        "the invoice of march 5, 2012 is paid": "the invoice of March fifth, twenty twelve is paid",
        "it is due by the 2nd of march": "it is due by the second of March",
        "from 3 may to 5 june": "from the third of May to the fifth of June",
        "on 3 may be you can wait": "on three may be you can wait",
        "the first 3 may 5 times refuse": "the first three may five times refuse",
        "we march 5 miles a day": "we march five miles a day",
        "you may 2 or 3 times a day": "you may two or three times a day",
    },
}
