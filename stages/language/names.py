"""The languages that are told apart: one set of labels for all engines, and what ISO 639 says of each."""

from __future__ import annotations

import difflib

NO_LANGUAGE = "zxx"
"""ISO 639-2 for a text that holds no language: empty, numbers, marks, code."""
UNDETERMINED = "und"
"""ISO 639-2 for a text whose language no engine knows."""

_TABLE = """
    aa=afar ab=abkhaz ace=acehnese af=afrikaans ak=akan als=alemannic am=amharic an=aragonese ar=arabic
    ary=moroccan-arabic arz=egyptian-arabic as=assamese ast=asturian av=avar ay=aymara az=azerbaijani
    azb=south-azerbaijani ba=bashkir ban=balinese bar=bavarian bcl=central-bikol be=belarusian bg=bulgarian
    bh=bihari bi=bislama bn=bengali bo=tibetan bpy=bishnupriya br=breton bs=bosnian bug=buginese bxr=buryat
    ca=catalan cbk=chavacano ccp=chakma ce=chechen ceb=cebuano chr=cherokee ckb=central-kurdish cnr=montenegrin
    co=corsican cop=coptic crh=crimean-tatar crs=seychellois-creole cs=czech cv=chuvash cy=welsh da=danish de=german
    diq=zazaki dsb=lower-sorbian dty=doteli dv=dhivehi dz=dzongkha egy=egyptian el=greek eml=emilian-romagnol
    en=english eo=esperanto es=spanish et=estonian eu=basque ext=extremaduran fa=persian ff=fula fi=finnish
    fj=fijian fo=faroese fr=french frr=north-frisian fuv=nigerian-fulfulde fy=west-frisian ga=irish
    gcf=guadeloupean-creole gcr=guianese-creole gd=scottish-gaelic gl=galician gn=guarani gom=konkani got=gothic
    grc=ancient-greek gu=gujarati guw=gun gv=manx ha=hausa haw=hawaiian hbo=biblical-hebrew he=hebrew hi=hindi
    hif=fiji-hindi hmn=hmong hr=croatian hsb=upper-sorbian ht=haitian hu=hungarian hy=armenian ia=interlingua
    id=indonesian ie=interlingue ig=igbo ii=sichuan-yi ik=inupiaq ilo=ilocano io=ido is=icelandic it=italian
    iu=inuktitut ja=japanese jbo=lojban jv=javanese ka=georgian kab=kabyle kha=khasi khb=lu ki=kikuyu kk=kazakh
    kl=greenlandic km=khmer kn=kannada ko=korean krc=karachay-balkar ks=kashmiri ku=kurdish kv=komi kw=cornish
    ky=kyrgyz la=latin lb=luxembourgish lep=lepcha lez=lezgian lg=ganda li=limburgish lif=limbu lij=ligurian
    lis=lisu lmo=lombard ln=lingala lo=lao lrc=northern-luri lt=lithuanian ltg=latgalian lv=latvian mai=maithili
    mfe=mauritian-creole mg=malagasy mhr=meadow-mari mi=maori min=minangkabau mk=macedonian ml=malayalam
    mn=mongolian mni=meitei mr=marathi mrj=hill-mari ms=malay mt=maltese mwl=mirandese my=burmese myv=erzya
    mzn=mazandarani na=nauruan nah=nahuatl nap=neapolitan nds=low-german ne=nepali new=newar nl=dutch
    nn=norwegian-nynorsk no=norwegian nod=northern-thai nqo=nko nr=south-ndebele nso=northern-sotho ny=chichewa
    oc=occitan om=oromo or=odia os=ossetian pa=punjabi pam=pampanga pcm=nigerian-pidgin pfl=palatine-german
    pl=polish pms=piedmontese pnb=western-punjabi ps=pashto pt=portuguese qu=quechua rhg=rohingya rm=romansh
    rn=rundi ro=romanian ru=russian rue=rusyn rw=kinyarwanda sa=sanskrit sah=yakut sat=santali saz=saurashtra
    sc=sardinian scn=sicilian sco=scots sd=sindhi sdh=southern-kurdish se=northern-sami sg=sango sh=serbo-croatian
    si=sinhala sk=slovak sl=slovenian sm=samoan sn=shona so=somali sq=albanian sr=serbian ss=swati st=southern-sotho
    su=sundanese sv=swedish sw=swahili syl=sylheti syr=syriac ta=tamil tdd=tai-nua te=telugu tg=tajik th=thai
    ti=tigrinya tk=turkmen tl=tagalog tlh=klingon tn=tswana to=tongan tr=turkish ts=tsonga tt=tatar tyv=tuvan
    ug=uyghur uk=ukrainian ur=urdu uz=uzbek uzs=southern-uzbek vai=vai ve=venda vec=venetian vep=veps vi=vietnamese
    vls=west-flemish vo=volapuk wa=walloon war=waray wo=wolof wuu=wu-chinese xal=kalmyk xh=xhosa xmf=mingrelian
    yi=yiddish yo=yoruba yue=cantonese za=zhuang zgh=moroccan-amazigh zh=chinese zu=zulu
    """

NAMES = dict(entry.split("=") for entry in _TABLE.split())
"""Label -> English name in lower case, words joined by hyphens.

A label is the code of ISO 639-1, and where it has none that of ISO 639-3: but for als, bh, eml and nah, which are as
fastText's lid.176 has them (Alemannic, gsw in ISO 639-3; a code of Wikipedia's; two families).
"""

_ISO_639_3 = """
    aa=aar ab=abk af=afr ak=aka am=amh an=arg ar=ara as=asm av=ava ay=aym az=aze ba=bak be=bel bg=bul bi=bis bn=ben
    bo=bod br=bre bs=bos ca=cat ce=che co=cos cs=ces cv=chv cy=cym da=dan de=deu dv=div dz=dzo el=ell en=eng eo=epo
    es=spa et=est eu=eus fa=fas ff=ful fi=fin fj=fij fo=fao fr=fra fy=fry ga=gle gd=gla gl=glg gn=grn gu=guj gv=glv
    ha=hau he=heb hi=hin hr=hrv ht=hat hu=hun hy=hye ia=ina id=ind ie=ile ig=ibo ii=iii ik=ipk io=ido is=isl it=ita
    iu=iku ja=jpn jv=jav ka=kat ki=kik kk=kaz kl=kal km=khm kn=kan ko=kor ks=kas ku=kur kv=kom kw=cor ky=kir la=lat
    lb=ltz lg=lug li=lim ln=lin lo=lao lt=lit lv=lav mg=mlg mi=mri mk=mkd ml=mal mn=mon mr=mar ms=msa mt=mlt my=mya
    na=nau ne=nep nl=nld nn=nno no=nor nr=nbl ny=nya oc=oci om=orm or=ori os=oss pa=pan pl=pol ps=pus pt=por qu=que
    rm=roh rn=run ro=ron ru=rus rw=kin sa=san sc=srd sd=snd se=sme sg=sag sh=hbs si=sin sk=slk sl=slv sm=smo sn=sna
    so=som sq=sqi sr=srp ss=ssw st=sot su=sun sv=swe sw=swa ta=tam te=tel tg=tgk th=tha ti=tir tk=tuk tl=tgl tn=tsn
    to=ton tr=tur ts=tso tt=tat ug=uig uk=ukr ur=urd uz=uzb ve=ven vi=vie vo=vol wa=wln wo=wol xh=xho yi=yid yo=yor
    za=zha zh=zho zu=zul als=gsw bh=bih
    """
ISO_639_3 = dict.fromkeys(NAMES) | dict(entry.split("=") for entry in _ISO_639_3.split())

MACRO = {
    member: whole
    for whole, members in {
        "ar": "ary arz",
        "az": "azb",
        "ff": "fuv",
        "ku": "ckb sdh",
        "lv": "ltg",
        "ms": "id min",
        "ne": "dty",
        "no": "nn",
        "sh": "bs cnr hr sr",
        "uz": "uzs",
        "zh": "wuu yue",
    }.items()
    for member in members.split()
}
"""Member -> macro-language of ISO 639-3, where both are labels. nor and msa stand for Bokmål and Malay too."""

_SCRIPTS = {
    "Cyrl": "ab av ba be bg bs bxr ce crh cv kk krc ku kv ky lez mhr mk mn mrj myv os ro ru rue sah sh sr tg tk tt tyv "
    "ug uk uz xal az cnr",
    "Arab": "ar ary arz az azb ckb fa ha kk ks ku ky lrc ms mzn pa pnb ps sd sdh tg tk tt ug ur uz uzs",
    "Deva": "bh dty gom hi ks mai mr ne new sa sd",
    "Beng": "as bn bpy",
    "Ethi": "am ti",
    "Hebr": "hbo he yi",
    "Grek": "el grc",
    "Tibt": "bo dz",
    "Hani": "ja wuu yue zh",
    "Cans": "iu",
    "Guru": "pa",
    "Gujr": "gu",
    "Orya": "or",
    "Taml": "ta",
    "Telu": "te",
    "Knda": "kn",
    "Mlym": "ml",
    "Sinh": "si",
    "Thai": "th",
    "Laoo": "lo",
    "Khmr": "km",
    "Mymr": "my",
    "Geor": "ka xmf",
    "Armn": "hy",
    "Mong": "mn",
    "Thaa": "dv",
    "Cher": "chr",
    "Syrc": "syr",
    "Limb": "lif",
    "Hang": "ko",
    "Kana": "ja",
    "Hira": "ja",
    "Olck": "sat",
    "Mtei": "mni",
    "Tfng": "zgh",
    "Nkoo": "nqo",
    "Vaii": "vai",
    "Yiii": "ii",
    "Bopo": "zh",
    "Goth": "got",
    "Bugi": "bug",
    "Adlm": "ff",
    "Copt": "cop",
    "Java": "jv",
    "Bali": "ban",
    "Sund": "su",
    "Tale": "tdd",
    "Talu": "khb",
    "Lana": "nod",
    "Lepc": "lep",
    "Cakm": "ccp",
    "Rohg": "rhg",
    "Saur": "saz",
    "Sylo": "syl",
    "Egyp": "egy",
    "Lisu": "lis",
}
_ALSO_LATIN = "az bs cnr crh gom ha jv ku ms ro sh sr su tk tt uz ban bug ff iu"
_NOT_LATIN = {code for codes in _SCRIPTS.values() for code in codes.split()} - set(_ALSO_LATIN.split())
WRITTEN_IN = {script: tuple(codes.split()) for script, codes in _SCRIPTS.items()} | {
    "Latn": tuple(code for code in NAMES if code not in _NOT_LATIN)
}
"""Script (ISO 15924) -> the languages written in it."""

COLLECTIVE = ("ar", "ff", "ku", "sh", "zh")
"""Macro-languages whose label means all their members when it is wanted; ms, no and others mean the largest of them."""

_SCRIPT_LABELS = {"ja": "Jpan", "zh": "Hani"}


def members(wanted: tuple[str, ...]) -> frozenset[str]:
    """Return the labels that `wanted` stand for: themselves, and the members of a collective."""
    return frozenset(wanted) | {member for member, whole in MACRO.items() if whole in COLLECTIVE and whole in wanted}


def iso_label(label: str, script: str) -> str:
    """Return the code of ISO 639-3 and the script, as in ``eng_Latn``; Japanese is ``jpn_Jpan`` whatever it mixes."""
    return f"{ISO_639_3.get(label) or label}_{_SCRIPT_LABELS.get(label, script)}"


_LABELS = {name: label for label, name in NAMES.items()}


def complaint(language: str) -> str | None:
    """Return what is wrong with `language` as a label, with a remedy; None for a known label."""
    if language in NAMES or language in (NO_LANGUAGE, UNDETERMINED):
        return None
    wanted = language.lower().replace("_", "-").strip()
    near = [wanted] if wanted in NAMES else []
    near += [label for label, code in ISO_639_3.items() if code == wanted.split("-")[0]]
    near += [_LABELS[name] for name in difflib.get_close_matches(wanted, _LABELS, 2, 0.7)]
    if not near and wanted[:2] in NAMES and (len(wanted) == 3 or wanted[2:3] == "-"):
        near = [wanted[:2]]
    hint = " or ".join(f"{label!r} ({NAMES[label]})" for label in dict.fromkeys(near))
    return f"unknown language {language!r}" + (
        f"; did you mean {hint}?" if hint else "; give codes of ISO 639-1, such as 'en', 'de', 'zh', or of ISO 639-3"
    )
