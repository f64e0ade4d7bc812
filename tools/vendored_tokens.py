"""Which Primer design tokens the console uses, and in which themes. `tools/vendor.py` cuts them out."""

#: The first is the base: the others hold only what differs from it.
THEMES = (
    "light",
    "light-high-contrast",
    "light-colorblind",
    "light-tritanopia",
    "dark",
    "dark-high-contrast",
    "dark-colorblind",
    "dark-tritanopia",
)

#: Themes the browser's own preferences choose while nobody has chosen one; at most one applies.
AUTOMATIC = {
    "light-high-contrast": "(prefers-color-scheme: light) and (prefers-contrast: more)",
    "dark": "(prefers-color-scheme: dark) and (not (prefers-contrast: more))",
    "dark-high-contrast": "(prefers-color-scheme: dark) and (prefers-contrast: more)",
}

TONES = ("accent", "attention", "danger", "done", "neutral", "severe", "success")

TOKENS = (
    "bgColor-default",
    "bgColor-muted",
    "bgColor-inset",
    "bgColor-disabled",
    *(f"bgColor-{tone}-{weight}" for tone in TONES for weight in ("emphasis", "muted")),
    "card-bgColor",
    "fgColor-default",
    "fgColor-muted",
    "fgColor-disabled",
    "fgColor-onEmphasis",
    "fgColor-link",
    *(f"fgColor-{tone}" for tone in TONES),
    "borderColor-default",
    "borderColor-muted",
    "borderColor-emphasis",
    *(f"borderColor-{tone}-{weight}" for tone in TONES for weight in ("emphasis", "muted")),
    *(
        f"button-{kind}-{part}"
        for kind, parts in {
            "default": ("bgColor-rest", "bgColor-hover", "bgColor-active", "borderColor-rest", "fgColor-rest"),
            "primary": ("bgColor-rest", "bgColor-hover", "bgColor-active", "borderColor-rest", "fgColor-rest"),
            "danger": (
                "bgColor-rest",
                "bgColor-hover",
                "bgColor-active",
                "borderColor-rest",
                "borderColor-hover",
                "fgColor-rest",
                "fgColor-hover",
            ),
        }.items()
        for part in parts
    ),
    "control-bgColor-hover",
    "control-borderColor-emphasis",
    "control-borderColor-danger",
    "control-checked-bgColor-rest",
    "control-fgColor-placeholder",
    "diffBlob-additionWord-bgColor",
    "diffBlob-additionWord-fgColor",
    "diffBlob-deletionWord-bgColor",
    "diffBlob-deletionWord-fgColor",
    "focus-outline-color",
    "overlay-backdrop-bgColor",
    "selection-bgColor",
    "shadow-resting-small",
    "shadow-floating-small",
    "skeletonLoader-bgColor",
    *(f"data-{hue}-color-emphasis" for hue in ("blue", "green", "yellow", "red", "purple", "gray")),
)
