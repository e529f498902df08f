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
        'a 15.6" screen, 12.5-17" wide': "a fifteen point six inch screen, twelve point five to seventeen inches wide",
    },
    "signs that rules wait for": {
        "The meeting is may 5th.": "The meeting is May fifth.",
        "1\u20442 cup of milk": "one half cup of milk",
        "a crate of 2 \u00d7 3 \u00d7 4 cm": "a crate of two by three by four centimeters",
        "It is 5 km\u201310 km away.": "It is five kilometers to ten kilometers away.",
        "We left on Tue, b/c it rained.": "We left on Tuesday, because it rained.",
    },
    "a measure that describes a thing": {
        "Set a 5m timer and a 20m alarm.": "Set a five minute timer and a twenty minute alarm.",
    },
    "ranges that begin with a decimal": {
        "Set it to 37.5-38 degrees.": "Set it to thirty seven point five to thirty eight degrees.",
        "Between 19.5-21 it stops.": "Between nineteen point five and twenty one it stops.",
        "It rose by 100.5-101.": "It rose by one hundred point five to one hundred one.",
        "In 1234.5-6.7 nobody counts.": (
            "In one thousand two hundred thirty four point five to six point seven nobody counts."
        ),
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
    "driving": {
        "Turn left in 500 ft onto I-95 N toward exit 12B.": (
            "Turn left in five hundred feet onto I ninety five North toward exit twelve B."
        ),
        "In 0.3 mi, take exit 42A toward US-101 S.": (
            "In zero point three miles, take exit forty two A toward US one oh one South."
        ),
        "Continue on Rte. 66 for 2.5 mi.": "Continue on Route sixty six for two point five miles.",
        "Your ETA is 5:42 PM, 23 min away (14.6 mi).": (
            "Your ETA is five forty two PM, twenty three minutes away (fourteen point six miles)."
        ),
        "Head NW on 5th Ave. for 300 m.": "Head northwest on fifth Avenue for three hundred meters.",
        "Heading E on I-80 W toward US 101.": "Heading east on I eighty West toward US one oh one.",
        "Turn right onto Elm St and go 200 yds.": "Turn right onto Elm Street and go two hundred yards.",
        "You are at 1600 Pennsylvania Ave NW, Washington, DC 20500.": (
            "You are at sixteen hundred Pennsylvania Avenue northwest, Washington, DC two zero five zero zero."
        ),
        "123 N. Main St., Apt. 4B, Springfield, IL 62704-1234": (
            "one hundred twenty three North Main Street, Apartment four B, Springfield, IL six two seven zero "
            "four, one two three four"
        ),
        "1st St & 2nd Ave": "first Street and second Avenue",
        "4 Privet Dr is on your left.": "four Privet Drive is on your left.",
        "Take Hwy 1 to Mt. Tamalpais.": "Take Highway one to Mount Tamalpais.",
        "Go to St Paul's and meet Dr Watson.": "Go to Saint Paul's and meet Doctor Watson.",
        "GPS: 37.7749\u00b0 N, 122.4194\u00b0 W": (
            "GPS: thirty seven point seven seven four nine degrees north, one hundred twenty two point four "
            "one nine four degrees west"
        ),
        "Speed limit is 65 mph; you're going 72.": (
            "Speed limit is sixty five miles per hour; you're going seventy two."
        ),
        "The no. 7 bus leaves from Rm. 204, not room 101.": (
            "The number seven bus leaves from Room two oh four, not room one oh one."
        ),
        "Flight 2490 is a Boeing 737-800.": "Flight twenty four ninety is a Boeing seven thirty seven eight hundred.",
        "Error 404, then HTTP 500.": "Error four oh four, then HTTP five hundred.",
        "In US 500 firms left, not on US 101.": "In US five hundred firms left, not on US one oh one.",
        "The London\u2013Paris train, A\u2013Z": "The London-Paris train, A to Z",
        "Wind from the SE, not from St. Paul": "Wind from the southeast, not from Saint Paul",
    },
    "weather": {
        "It's 72\u00b0F and sunny, with a high of 78\u00b0 and a low of 61\u00b0.": (
            "It's seventy two degrees Fahrenheit and sunny, with a high of seventy eight degrees and a low of "
            "sixty one degrees."
        ),
        "It's -5F here; it's 20 C there.": (
            "It's minus five degrees Fahrenheit here; it's twenty degrees Celsius there."
        ),
        "Set it to 68F, bake at 350F, seat 14C; go to 14C.": (
            "Set it to sixty eight degrees Fahrenheit, bake at three hundred fifty degrees Fahrenheit, seat "
            "fourteen C; go to fourteen C."
        ),
        "From 60\u00b0-70\u00b0F, or 10\u00b0\u201315\u00b0C.": (
            "From sixty to seventy degrees Fahrenheit, or ten to fifteen degrees Celsius."
        ),
        "Winds NW at 10-15 mph, gusting to 25.": (
            "Winds northwest at ten to fifteen miles per hour, gusting to twenty five."
        ),
        "Winds S at 12 kts by Tues.": "Winds south at twelve knots by Tuesday.",
        '0.25" of rain expected; 2-4" of snow on Thu.': (
            "zero point two five inches of rain expected; two to four inches of snow on Thursday."
        ),
        "Highs in the low 70s, lows around 50\u00b0.": "Highs in the low seventies, lows around fifty degrees.",
        "Pressure: 1013 hPa, rising.": "Pressure: one thousand thirteen hectopascals, rising.",
        "There's a 40% chance of rain after 3pm.": "There's a forty percent chance of rain after three PM.",
    },
    "timers and times": {
        "Timer set for 1h 30m.": "Timer set for one hour thirty minutes.",
        "Timer set for 1 h 30 min.": "Timer set for one hour thirty minutes.",
        "2m30s remaining": "two minutes thirty seconds remaining",
        "5:00 left on your 10-min timer.": "five minutes left on your ten minute timer.",
        "1:30 remaining": "one minute and thirty seconds remaining",
        "Report - Mar 3, on 1/2 and 3/4": "Report - March third, on one half and three quarters",
        "Set an alarm for 7:15am Mon-Fri.": "Set an alarm for seven fifteen AM Monday to Friday.",
        "Open Mon-Fri and closed on Sun.": "Open Monday to Friday and closed on Sunday.",
        "Every Tue & Thu, sometimes Sat and Sun.": "Every Tuesday and Thursday, sometimes Saturday and Sunday.",
        "Open 9:00 a.m. - 5:00 p.m. on weekdays": "Open nine AM to five PM on weekdays",
        "noon\u20132pm": "noon to two PM",
        "The meeting is at 3 PM EST / 12 PM PST.": "The meeting is at three PM EST, twelve PM PST.",
        "Sent 2024-03-15T14:30:00Z.": "Sent March fifteenth, twenty twenty four at fourteen thirty UTC.",
        "Sent 2024-03-15T14:30:00+02:00.": "Sent March fifteenth, twenty twenty four at fourteen thirty UTC plus two.",
        "It began 2024-03-15 14:30.": "It began March fifteenth, twenty twenty four at fourteen thirty.",
        "It is due 3/15 at 5pm.": "It is due March fifteenth at five PM.",
        "See you on 12/24, or Mon 3/15.": "See you on December twenty fourth, or Monday, March fifteenth.",
        "Cut it by 1/3 on 1/2 of the days.": "Cut it by one third on one half of the days.",
        "Mar. 3 \u2013 Apr. 5": "March third to April fifth",
        "Back in Sept, since Jan we rest.": "Back in September, since January we rest.",
        "T-10 seconds": "T minus ten seconds",
    },
    "kitchen": {
        "Preheat the oven to 180 \u00b0C/350 \u00b0F.": (
            "Preheat the oven to one hundred eighty degrees Celsius, three hundred fifty degrees Fahrenheit."
        ),
        "Add 1 1/2 cups flour, 3/4 tsp salt & 2 Tbsp. sugar.": (
            "Add one and a half cups flour, three quarters teaspoon salt and two tablespoons sugar."
        ),
        "Add \u00bd cup of milk and 1\u00bc tsp of vanilla.": (
            "Add one half cup of milk and one and a quarter teaspoons of vanilla."
        ),
        "You need 2 lb. of beef, 1 qt. of stock, and a 14-oz. can of tomatoes.": (
            "You need two pounds of beef, one quart of stock, and a fourteen ounce can of tomatoes."
        ),
        "Pour 8 fl. oz. of cream on 1 doz. eggs.": "Pour eight fluid ounces of cream on one dozen eggs.",
        "Bake for 25\u201330 mins.": "Bake for twenty five to thirty minutes.",
        "Serves 4-6; prep time: 15 min.": "Serves four to six; prep time: fifteen minutes.",
        "Mix 200g flour with 1.5L water.": "Mix two hundred grams flour with one point five liters water.",
    },
    "addresses and code": {
        "Email jane.doe42@mail.example.com for help.": (
            "Email jane dot doe forty two at mail dot example dot com for help."
        ),
        "Send it to bob_smith+news@gmail.com.": "Send it to bob underscore smith plus news at gmail dot com.",
        "See github.com/user/repo#readme or example.com?q=1.": (
            "See github dot com slash user slash repo or example dot com."
        ),
        "Go to example.com:8080/help.": "Go to example dot com colon eight thousand eighty slash help.",
        "Connect to 10.0.0.12:22 or localhost:8080.": (
            "Connect to ten point zero point zero point twelve colon twenty two or localhost colon eight "
            "thousand eighty."
        ),
        "The file report_final-v2.pdf is 3.2MB.": (
            "The file report underscore final dash version two dot pdf is three point two megabytes."
        ),
        "Open C:\\Users\\me\\notes.txt now": "Open C colon backslash Users backslash me backslash notes dot txt now",
        "Edit ~/.bashrc and /etc/hosts.": "Edit tilde slash dot bashrc and slash etc slash hosts.",
        "Put it into /tmp, then say /help (or /quit).": ("Put it into slash tmp, then say slash help (or slash quit)."),
        "Tea and/or milk, hot / cold": "Tea and or milk, hot or cold",
        "All .txt files and .env": "All dot txt files and dot env",
        'Run git commit -m "fix" with --verbose or -v.': (
            'Run git commit dash m "fix" with dash dash verbose or dash v.'
        ),
        "if x >= 10 && y != 0": "if x at least ten and y is not equal to zero",
        "a->b and x<=y and x == 5": "a to b and x at most y and x equals five",
        "Black &amp; white &lt; 5": "Black and white less than five",
        "Set MAX_RETRIES=5.": "Set MAX RETRIES equals five.",
        "press # to go on": "press pound to go on",
        "the 1080p film, or 480p": "the ten eighty p film, or four eighty p",
        "c/o John, 24/7": "care of John, twenty four seven",
    },
    "telephone and codes": {
        "Call (415) 555-0132.": "Call four one five, five five five, zero one three two.",
        "Call 1-800-555-0199 ext. 12.": (
            "Call one, eight zero zero, five five five, zero one nine nine extension twelve."
        ),
        "Call 911, then dial 988.": "Call nine one one, then dial nine eight eight.",
        "Ring 020 7946 0958 or 0800 123 4567.": (
            "Ring zero two zero, seven nine four six, zero nine five eight or zero eight zero zero, one two "
            "three, four five six seven."
        ),
        "Your code is 482913.": "Your code is four eight two, nine one three.",
        "Your PIN is 4321, the area code is 415.": "Your PIN is four three two one, the area code is four one five.",
        "The ZIP 94103 and order #12345": "The ZIP nine four one zero three and order number one two three four five",
        "There are 911 of them, code 7.": "There are nine hundred eleven of them, code seven.",
    },
    "sports and scores": {
        "The Lakers beat the Celtics 112-108.": "The Lakers beat the Celtics one hundred twelve to one hundred eight.",
        "He ran 100m in 9.58s.": "He ran one hundred meters in nine point five eight seconds.",
        "In his 20s he ran; the 49ers and the 76ers came at 7ish.": (
            "In his twenties he ran; the forty niners and the seventy sixers came at sevenish."
        ),
        "Rated 4.5/5, 8/10 and 3/5 stars.": (
            "Rated four point five out of five, eight out of ten and three out of five stars."
        ),
        "9/10 doctors walk 7/10 of a mile.": "nine out of ten doctors walk seven tenths of a mile.",
        "50:50 is a 1:1 ratio.": "fifty fifty is a one to one ratio.",
        "He threw for 325 yds, between 300-350.": (
            "He threw for three hundred twenty five yards, between three hundred and three hundred fifty."
        ),
        "10 - 5 = 5": "ten minus five equals five",
        "the 1st\u20133rd grade": "the first to third grade",
        "100s of people and 1,000s of cars": "hundreds of people and thousands of cars",
    },
    "sizes and units": {
        "He is 6' tall.": "He is six feet tall.",
        "The room is 12' x 10'.": "The room is twelve feet by ten feet.",
        'a 5.5" screen and a 1/4" drill': "a five point five inch screen and a quarter inch drill",
        'the 3" by 5" card': "the three inches by five inches card",
        'press the "5" key, not the 5" disk': 'press the "five" key, not the five inches disk',
        "The paper is 8.5 x 11 in.": "The paper is eight point five by eleven inches.",
        "a flat of 1,200 sq. ft. or 3 sq mi": "a flat of one thousand two hundred square feet or three square miles",
        "9.8 m/s\u00b2 and 1.5 kg/m\u00b3": (
            "nine point eight meters per second squared and one point five kilograms per cubic meter"
        ),
        "6.02 \u00d7 10^23": "six point zero two times ten to the power of twenty three",
        "BP is 120/80, or 120/80 mmHg, at 72 bpm.": (
            "BP is one hundred twenty over eighty, or one hundred twenty over eighty millimeters of mercury, "
            "at seventy two beats per minute."
        ),
        "It draws 2.5A at 12V.": "It draws two point five amps at twelve volts.",
        "a 100W bulb, 60Hz, 120V": "a one hundred watt bulb, sixty hertz, one hundred twenty volts",
        "100 mg/dL of it": "one hundred milligrams per deciliter of it",
    },
    "money": {
        "\u20ac12,50": "twelve euros and fifty cents",
        "It is \u20ac1.000,50 or 3,20 \u20ac.": (
            "It is one thousand euros and fifty cents or three euros and twenty cents."
        ),
        "It costs \u20ac12.50 or \u00a39.99.": (
            "It costs twelve euros and fifty cents or nine pounds and ninety nine pence."
        ),
        "C$20 and A$30": "twenty Canadian dollars and thirty Australian dollars",
        "20 CAD or Rs. 500": "twenty Canadian dollars or five hundred rupees",
        "a $5 bill, an $8 beer, a $1.5 million house": (
            "a five dollar bill, an eight dollar beer, a one point five million dollar house"
        ),
        "a \u00a33.50 coffee on a $5-a-day plan": "a three pound and fifty pence coffee on a five dollar-a-day plan",
        "I paid a $20 or more.": "I paid a twenty dollars or more.",
        "$1M-$2M": "one million dollars to two million dollars",
        "$3/hr": "three dollars per hour",
    },
    "names and marks": {
        "Mr and Mrs Smith met Dr. O'Neil and Mrs. D'Angelo.": (
            "Mister and Missus Smith met Doctor O'Neil and Missus D'Angelo."
        ),
        "the FBI's and CIA's files": "the FBI's and CIA's files",
        "J.K. Rowling and George R.R. Martin": "JK Rowling and George RR Martin",
        "the U.S.\u2013China talks": "the US-China talks",
        "\u201cIt\u2019s fine,\u201d she said\u2026 maybe.": "\u201cIt\u2019s fine,\u201d she said\u2026 maybe.",
        "Wait -- what?": "Wait -- what?",
        "Great job! You did it.": "Great job! You did it.",
        "**Important:** do *not* unplug it.": "Important: do not unplug it.",
        "rock 'n' roll at O'Reilly's": "rock 'n' roll at O'Reilly's",
    },
}
