"""Words that are younger than the default voice's lexicon, and names its letter rules read wrongly.

Purpose: `SAID`, sounds for what people and language models say every day; `SPELLED`, what is said letter by letter
though it is written small. Knows: the phone set (ARPAbet with stress, as `phones.json` names it). Does not know: words
that the lexicon has, or that letter rules read well enough.
"""

from __future__ import annotations

from typing import Final

SAID: Final = {
    # sounds of thinking and hushing
    "hmm": "hh m", "mm": "m", "mmm": "m", "shh": "sh", "psst": "p s t", "aww": "ao1",
    # computing
    "google": "g uw1 g ax0 l", "googled": "g uw1 g ax0 l d", "googling": "g uw1 g l ih0 ng", "gmail": "jh iy1 m ey1 l",
    "wi": "w ay1", "git": "g ih1 t", "github": "g ih1 t hh ah1 b", "gitlab": "g ih1 t l ae1 b",
    "json": "jh ey1 s ax0 n", "yaml": "y ae1 m ax0 l", "jpeg": "jh ey1 p eh1 g", "gif": "g ih1 f", "gui": "g uw1 iy0",
    "readme": "r iy1 d m iy0", "todo": "t uw1 d uw0", "captcha": "k ae1 p ch ax0",
    "numpy": "n ah1 m p ay0", "scipy": "s ay1 p ay0", "pytorch": "p ay1 t ao1 r ch", "nginx": "eh1 n jh ih0 n eh1 k s",
    "sudo": "s uw1 d uw0", "kubernetes": "k uw1 b er0 n eh1 t iy0 z", "async": "ey1 s ih1 ng k", "cuda": "k uw1 d ax0",
    "enum": "iy1 n ah0 m", "tuple": "t uw1 p ax0 l", "debug": "d iy1 b ah1 g", "debugger": "d iy1 b ah1 g er0",
    "lookup": "l uh1 k ah1 p", "integer": "ih1 n t ax0 jh er0",
    "deprecated": "d eh1 p r ax0 k ey1 t ih0 d",
    "canonical": "k ax0 n aa1 n ih0 k ax0 l", "xbox": "eh1 k s b aa1 k s", "ctrl": "k ax0 n t r ow1 l",
    "cmd": "k ax0 m ae1 n d", "emoji": "ih0 m ow1 jh iy0", "emojis": "ih0 m ow1 jh iy0 z",
    "whatsapp": "w ah1 t s ae1 p", "tiktok": "t ih1 k t aa1 k", "hulu": "hh uw1 l uw0", "huawei": "w aa1 w ey0",
    "xiaomi": "sh aw1 m iy0",
    # health and institutions
    "covid": "k ow1 v ih0 d", "fifa": "f iy1 f ax0", "uefa": "y uw0 ey1 f ax0", "fema": "f iy1 m ax0",
    # kitchen
    "latte": "l aa1 t ey0", "quinoa": "k iy1 n w aa0", "guacamole": "g w aa1 k ax0 m ow1 l iy0",
    "jalapeno": "hh aa1 l ax0 p ey1 n y ow0", "jalapenos": "hh aa1 l ax0 p ey1 n y ow0 z",
    "sriracha": "s ih0 r aa1 ch ax0", "ramen": "r aa1 m ax0 n", "paella": "p aa0 ey1 ax0",
    "linguine": "l ih0 ng g w iy1 n iy0", "chorizo": "ch er0 iy1 z ow0", "gnocchi": "n y ow1 k iy0",
    "ricotta": "r ih0 k aa1 t ax0", "tahini": "t ax0 hh iy1 n iy0", "pho": "f ah1", "wasabi": "w ax0 s aa1 b iy0",
    "vegan": "v iy1 g ax0 n", "vegans": "v iy1 g ax0 n z", "bruschetta": "b r uw0 s k eh1 t ax0",
    "prosciutto": "p r ax0 sh uw1 t ow0",
    # names in the news
    "putin": "p uw1 t ih0 n", "obama": "ow0 b aa1 m ax0", "kamala": "k aa1 m ax0 l ax0", "kyiv": "k iy1 v",
    "zelensky": "z ax0 l eh1 n s k iy0", "zelenskyy": "z ax0 l eh1 n s k iy0", "erdogan": "eh1 r d ow0 aa1 n",
    "mumbai": "m uh0 m b ay1", "djokovic": "jh ow1 k ax0 v ih0 ch", "mbappe": "eh0 m b aa1 p ey0",
    "giannis": "y aa1 n ih0 s", "mahomes": "m ax0 hh ow1 m z", "ohtani": "ow0 t aa1 n iy0",
    "beyonce": "b iy0 aa1 n s ey0", "rihanna": "r iy0 aa1 n ax0", "kanye": "k aa1 n y ey0",
    "eminem": "eh1 m ih0 n eh1 m", "schrodinger": "sh r ow1 d ih0 ng er0",
}  # fmt: skip
SPELLED: Final = frozenset({
    "api", "url", "cpu", "gpu", "usb", "uk", "usa", "eu", "fbi", "cia", "ceo", "idk", "omg", "fyi",
    "imo", "imho", "ttyl", "aka", "ikr", "irl", "iirc", "afaik", "hmu", "diy", "eod",
})  # fmt: skip
