"""The notes of a made-up brewery, and questions with the note that answers them."""

from __future__ import annotations

BEERS = ("Marzen", "Dunkel", "Altbier", "Porter", "Saison", "Gose", "Tripel", "Bock")
HOPS = ("Tettnang", "Perle", "Spalt", "Fuggle", "Styrian", "Saaz", "Magnum", "Hersbruck")

NOTES = {
    f"beers/{name.lower()}.md": f"# {name}\n\nThe {name} is hopped with {hop} and rests in tank {tank}.\n"
    for tank, (name, hop) in enumerate(zip(BEERS, HOPS, strict=True), 3)
} | {
    "plant/kettle.md": "# Copper kettle\n\nIt boils for ninety minutes. Descale it with citric acid.\n",
    "plant/mill.md": "# Malt mill\n\nThe gap of the rollers is 1.3 mm. Ear protection is needed.\n",
    "plant/chiller.md": "# Chiller\n\nThe glycol must not be warmer than minus two degrees.\n",
    "plant/keg-washer.md": "# Keg washer\n\nCaustic at eighty degrees, then steam, then carbon dioxide.\n",
    "plant/forklift.md": "# Forklift\n\nOnly Anouk and Piet have the licence. It charges overnight.\n",
    "plant/labels.md": "# Labels\n\nThe labelling machine jams if the glue is colder than fifteen degrees.\n",
    "plant/boiler.md": "# Steam boiler\n\nFault F7 means low water. Fault F12 means that the flame is out.\n",
    "office/deposit.md": "# Deposit\n\nA crate costs 3.10 euros of deposit and a keg thirty.\n",
    "office/excise.md": "# Excise duty\n\nThe declaration is due on the tenth of each month.\n",
    "office/tours.md": "# Tours\n\nGroups of up to fourteen visitors, Saturdays at three, with a tasting.\n",
    "office/allergens.md": "# Allergens\n\nEvery beer has barley; the wheat beers have wheat, too.\n",
    "people/anouk.md": "# Anouk\n\nAnouk is the head brewer. She plays the bassoon.\n",
    "people/piet.md": "# Piet\n\nPiet drives to the pubs on Tuesdays. He is afraid of geese.\n",
    "people/lucia.md": "# Lucia\n\nLucia keeps the yeast bank and runs the laboratory.\n",
    "log/2026-02-11.md": "# 2026-02-11\n\nThe cellar was flooded; two pallets of bottles were lost.\n",
    "log/2026-04-23.md": "# 2026-04-23\n\nA wasp nest was found behind the grain silo.\n",
    "log/2026-06-30.md": "# 2026-06-30\n\nThe inspector praised the clean drains.\n",
}

QUESTIONS = {
    "which hops are in the Gose": "beers/gose.md",
    "in which tank does the Porter rest": "beers/porter.md",
    "how long does the kettle boil": "plant/kettle.md",
    "how wide is the gap of the rollers": "plant/mill.md",
    "how cold must the glycol be": "plant/chiller.md",
    "how are kegs washed": "plant/keg-washer.md",
    "who may drive the forklift": "plant/forklift.md",
    "why does the labelling machine jam": "plant/labels.md",
    "what does fault F7 mean": "plant/boiler.md",
    "how much deposit is on a crate": "office/deposit.md",
    "when is the excise declaration due": "office/excise.md",
    "how many visitors can join a tour": "office/tours.md",
    "what allergens does the beer have": "office/allergens.md",
    "who plays the bassoon": "people/anouk.md",
    "who is afraid of geese": "people/piet.md",
    "who keeps the yeast bank": "people/lucia.md",
    "what was lost when the cellar was flooded": "log/2026-02-11.md",
    "where was the wasp nest": "log/2026-04-23.md",
    "what did the inspector praise": "log/2026-06-30.md",
}
