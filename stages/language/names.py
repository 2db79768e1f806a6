"""The languages that fastText's lid.176 tells apart: its labels, with their English names."""

from __future__ import annotations

import difflib

_TABLE = """
    af=afrikaans als=alemannic am=amharic an=aragonese ar=arabic arz=egyptian-arabic as=assamese ast=asturian av=avar
    az=azerbaijani azb=south-azerbaijani ba=bashkir bar=bavarian bcl=central-bikol be=belarusian bg=bulgarian bh=bihari
    bn=bengali bo=tibetan bpy=bishnupriya br=breton bs=bosnian bxr=buryat ca=catalan cbk=chavacano ce=chechen
    ceb=cebuano ckb=central-kurdish co=corsican cs=czech cv=chuvash cy=welsh da=danish de=german diq=zazaki
    dsb=lower-sorbian dty=doteli dv=dhivehi el=greek eml=emilian-romagnol en=english eo=esperanto es=spanish
    et=estonian eu=basque fa=persian fi=finnish fr=french frr=north-frisian fy=west-frisian ga=irish
    gd=scottish-gaelic gl=galician gn=guarani gom=konkani gu=gujarati gv=manx he=hebrew hi=hindi hif=fiji-hindi
    hr=croatian hsb=upper-sorbian ht=haitian hu=hungarian hy=armenian ia=interlingua id=indonesian ie=interlingue
    ilo=ilocano io=ido is=icelandic it=italian ja=japanese jbo=lojban jv=javanese ka=georgian kk=kazakh km=khmer
    kn=kannada ko=korean krc=karachay-balkar ku=kurdish kv=komi kw=cornish ky=kyrgyz la=latin lb=luxembourgish
    lez=lezgian li=limburgish lmo=lombard lo=lao lrc=northern-luri lt=lithuanian lv=latvian mai=maithili mg=malagasy
    mhr=meadow-mari min=minangkabau mk=macedonian ml=malayalam mn=mongolian mr=marathi mrj=hill-mari ms=malay
    mt=maltese mwl=mirandese my=burmese myv=erzya mzn=mazandarani nah=nahuatl nap=neapolitan nds=low-german ne=nepali
    new=newar nl=dutch nn=norwegian-nynorsk no=norwegian oc=occitan or=odia os=ossetian pa=punjabi pam=pampanga
    pfl=palatine-german pl=polish pms=piedmontese pnb=western-punjabi ps=pashto pt=portuguese qu=quechua rm=romansh
    ro=romanian ru=russian rue=rusyn sa=sanskrit sah=yakut sc=sardinian scn=sicilian sco=scots sd=sindhi
    sh=serbo-croatian si=sinhala sk=slovak sl=slovenian so=somali sq=albanian sr=serbian su=sundanese sv=swedish
    sw=swahili ta=tamil te=telugu tg=tajik th=thai tk=turkmen tl=tagalog tr=turkish tt=tatar tyv=tuvan ug=uyghur
    uk=ukrainian ur=urdu uz=uzbek vec=venetian vep=veps vi=vietnamese vls=west-flemish vo=volapuk wa=walloon
    war=waray wuu=wu-chinese xal=kalmyk xmf=mingrelian yi=yiddish yo=yoruba yue=cantonese zh=chinese
    """

NAMES = dict(entry.split("=") for entry in _TABLE.split())
"""Label -> English name in lower case, words joined by hyphens."""

_LABELS = {name: label for label, name in NAMES.items()}


def complaint(language: str) -> str | None:
    """Return what is wrong with `language` as a label, with a remedy; None for a known label."""
    if language in NAMES:
        return None
    wanted = language.lower().replace("_", "-").strip()
    near = [wanted] if wanted in NAMES else []
    near += [_LABELS[name] for name in difflib.get_close_matches(wanted, _LABELS, 2, 0.7)]
    if not near and wanted[:2] in NAMES and (len(wanted) == 3 or wanted[2:3] == "-"):
        near = [wanted[:2]]
    hint = " or ".join(f"{label!r} ({NAMES[label]})" for label in dict.fromkeys(near))
    return f"unknown language {language!r}" + (
        f"; did you mean {hint}?" if hint else "; give labels of fastText's lid.176, such as 'en', 'de', 'zh'"
    )
