"""What stands around an article on a page, by language. No extraction may let any of it through."""

from __future__ import annotations

from typing import Any

_KEYS = [
    "site",
    "home",
    "archive",
    "about",
    "contact",
    "search",
    "login",
    "share",
    "print",
    "related",
    "commented",
    "send",
    "accept",
    "refuse",
    "imprint",
    "privacy",
    "cookies",
    "newsletter",
    "rights",
    "script",
]


def _say(*values: str, comments: tuple[str, ...]) -> dict[str, Any]:
    return {**dict(zip(_KEYS, values, strict=True)), "comments": comments}


PHRASES: dict[str, dict[str, Any]] = {
    "en": _say(
        "The Common Notebook", "Home", "Archive", "About us", "Contact", "Search", "Log in", "Share this", "Print",
        "You may also like", "Readers wrote", "Send", "Accept all", "Refuse", "Imprint", "Privacy policy",
        "This site uses cookies to remember your settings. By staying here you agree to that.",
        "Get our newsletter every second Thursday and never miss a page.", "All rights reserved.",
        "Please switch on JavaScript to see the comments.",
        comments=(
            "Lovely piece, thanks for posting it, my neighbour sent me the link.",
            "First! Also there is a typo in the third line, or is that on purpose?",
            "Does anybody know whether the comments can be sorted by date?",
        ),
    ),
    "de": _say(
        "Das gemeinsame Heft", "Startseite", "Archiv", "Über uns", "Kontakt", "Suchen", "Anmelden", "Teilen", "Drucken",
        "Das könnte Sie auch interessieren", "Leserstimmen", "Absenden", "Alle annehmen", "Ablehnen", "Impressum",
        "Datenschutz", "Diese Seite verwendet Cookies, um Ihre Einstellungen zu speichern.",
        "Unser Rundbrief kommt jeden zweiten Donnerstag in Ihr Postfach.", "Alle Rechte vorbehalten.",
        "Bitte schalten Sie JavaScript ein, um die Kommentare zu sehen.",
        comments=(
            "Schöner Beitrag, den habe ich gleich meiner Schwester weitergeleitet.",
            "Kann man die Kommentare irgendwo nach Datum ordnen?",
        ),
    ),
    "fr": _say(
        "Le cahier commun", "Accueil", "Archives", "À propos", "Contact", "Rechercher", "Connexion", "Partager",
        "Imprimer", "À lire aussi", "Vos réactions", "Envoyer", "Tout accepter", "Refuser", "Mentions légales",
        "Confidentialité", "Ce site utilise des cookies pour retenir vos réglages.",
        "Recevez notre lettre un jeudi sur deux dans votre boîte.", "Tous droits réservés.",
        "Activez JavaScript pour voir les commentaires.",
        comments=(
            "Merci pour ce bel article, je l'ai envoyé à toute la famille.",
            "Peut-on trier les commentaires par date quelque part ?",
        ),
    ),
    "es": _say(
        "El cuaderno común", "Inicio", "Archivo", "Quiénes somos", "Contacto", "Buscar", "Entrar", "Compartir",
        "Imprimir", "También le puede gustar", "Opiniones", "Enviar", "Aceptar todo", "Rechazar", "Aviso legal",
        "Privacidad", "Este sitio utiliza cookies para recordar sus preferencias.",
        "Reciba nuestro boletín un jueves de cada dos.", "Todos los derechos reservados.",
        "Active JavaScript para ver los comentarios.",
        comments=(
            "Muy bonito, se lo he mandado a mi hermana enseguida.",
            "¿Se pueden ordenar los comentarios por fecha?",
        ),
    ),
    "pl": _say(
        "Wspólny zeszyt", "Strona główna", "Archiwum", "O nas", "Kontakt", "Szukaj", "Zaloguj się", "Udostępnij",
        "Drukuj", "Zobacz także", "Głosy czytelników", "Wyślij", "Akceptuję", "Odrzucam", "Nota prawna", "Prywatność",
        "Ta strona używa ciasteczek, aby zapamiętać ustawienia.", "Nasz biuletyn przychodzi w co drugi czwartek.",
        "Wszelkie prawa zastrzeżone.", "Włącz JavaScript, aby zobaczyć komentarze.",
        comments=("Piękny tekst, od razu wysłałam go siostrze.", "Czy komentarze można ułożyć według daty?"),
    ),
    "ru": _say(
        "Общая тетрадь", "Главная", "Архив", "О нас", "Связь", "Поиск", "Войти", "Поделиться", "Печать",
        "Читайте также", "Отзывы", "Отправить", "Принять", "Отказаться", "Выходные данные", "Конфиденциальность",
        "Этот сайт использует файлы cookie, чтобы помнить настройки.", "Наша рассылка приходит через четверг.",
        "Все права защищены.", "Включите JavaScript, чтобы увидеть комментарии.",
        comments=("Прекрасная заметка, сразу отправила сестре.", "Можно ли упорядочить отзывы по дате?"),
    ),
    "ja": _say(
        "みんなの帳面", "ホーム", "過去の記事", "このサイトについて", "お問い合わせ", "検索", "ログイン", "共有", "印刷",
        "関連記事", "コメント欄", "送信", "同意する", "拒否する", "運営者情報", "個人情報の扱い",
        "当サイトは設定を覚えるためにクッキーを使います。", "隔週木曜日にお便りをお届けします。", "無断転載を禁じます。",
        "コメントを見るにはJavaScriptを有効にしてください。",
        comments=("すてきな記事でした。妹にもすぐ送りました。", "コメントを日付順に並べることはできますか。"),
    ),
    "ar": _say(
        "الدفتر المشترك", "الرئيسية", "الأرشيف", "من نحن", "اتصل بنا", "بحث", "دخول", "شارك", "اطبع", "اقرأ أيضا",
        "آراء القراء", "أرسل", "أوافق", "أرفض", "بيانات الموقع", "الخصوصية",
        "يستخدم هذا الموقع ملفات تعريف الارتباط لحفظ إعداداتك.", "تصلكم نشرتنا كل خميسين.", "جميع الحقوق محفوظة.",
        "فعّل جافاسكربت لرؤية التعليقات.",
        comments=("مقال جميل، أرسلته إلى أختي في الحال.", "هل يمكن ترتيب التعليقات حسب التاريخ؟"),
    ),
}  # fmt: skip
for _language, _like in (("it", "es"), ("nl", "de"), ("sv", "de")):
    PHRASES[_language] = PHRASES[_like]
