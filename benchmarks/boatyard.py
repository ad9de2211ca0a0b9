"""The notes of a made-up boatyard, and questions with the note that answers them."""

from __future__ import annotations

from pathlib import Path

BOATS = ("Petrel", "Gannet", "Fulmar", "Dunlin", "Curlew", "Osprey", "Puffin", "Heron", "Kestrel", "Teal")
BERTHS = (14, 22, 3, 9, 31, 17, 26, 5, 12, 8)
PAINTS = ("navy", "cream", "black", "ochre", "scarlet", "grey", "white", "olive", "teal", "maroon")

NOTES = {
    f"boats/{name.lower()}.md": f"# {name}\n\nThe {name} lies at berth {berth}. The hull is {paint}.\n"
    for name, berth, paint in zip(BOATS, BERTHS, PAINTS, strict=True)
} | {
    "yard/crane.md": "# Crane\n\nThe crane lifts nine tonnes at most. Its key is behind the door.\n",
    "yard/van.md": "# Van\n\nBook the van by the week. Fill its tank with diesel when you return it.\n",
    "yard/fire.md": "# Fire\n\nExtinguishers stand at the paint shed and beside the fuel pump.\n",
    "yard/wifi.md": "# Wireless network\n\nThe guest network is called slipway. Ask for its password.\n",
    "yard/waste.md": "# Waste\n\nOld flares go to the coastguard, oil filters into the blue barrel.\n",
    "yard/antifouling.md": "# Antifouling\n\nThe yard uses copper free antifouling since the new bylaw.\n",
    "yard/sails.md": "# Sail loft\n\nTorn sails are mended by Ines on the first floor.\n",
    "yard/errors.md": "# Travel hoist\n\nError E42 means that the left brake is hot. E17 is a flat cell.\n",
    "rules/fees.md": "# Fees\n\nA berth costs 38 euros a metre each month, due on the first.\n",
    "rules/guests.md": "# Guests\n\nVisiting crews may stay three nights without a contract.\n",
    "rules/noise.md": "# Noise\n\nNo grinding before eight in the morning, and none on Sundays.\n",
    "rules/dogs.md": "# Dogs\n\nDogs are welcome on the quay if they are on a lead.\n",
    "people/ines.md": "# Ines\n\nInes sews. She is allergic to epoxy and keeps a parrot.\n",
    "people/bram.md": "# Bram\n\nBram runs the crane on weekdays. His boots are size 46.\n",
    "people/noor.md": "# Noor\n\nNoor does the accounts and answers letters on Thursdays.\n",
    "log/2025-11-04.md": "# 2025-11-04\n\nStorm from the west. Two fenders were lost at the outer quay.\n",
    "log/2026-01-19.md": "# 2026-01-19\n\nThe compressor was serviced and got a new belt.\n",
    "log/2026-03-17.md": "# 2026-03-17\n\nThe slipway winch broke its cable; nobody was hurt.\n",
    "log/2026-05-02.md": "# 2026-05-02\n\nRegatta: eleven boats, a calm, and cake for everyone.\n",
}

QUESTIONS = {
    "which berth does the Petrel have": "boats/petrel.md",
    "what colour is the hull of the Curlew": "boats/curlew.md",
    "how many tonnes can the crane lift": "yard/crane.md",
    "what fuel does the van take": "yard/van.md",
    "where are the fire extinguishers": "yard/fire.md",
    "what is the guest network called": "yard/wifi.md",
    "where do old flares go": "yard/waste.md",
    "which antifouling does the yard use": "yard/antifouling.md",
    "who mends torn sails": "yard/sails.md",
    "what does error E42 mean": "yard/errors.md",
    "how much does a berth cost each month": "rules/fees.md",
    "how many nights may visiting crews stay": "rules/guests.md",
    "when is grinding allowed": "rules/noise.md",
    "may dogs walk on the quay": "rules/dogs.md",
    "who is allergic to epoxy": "people/ines.md",
    "what size are the boots of Bram": "people/bram.md",
    "when does Noor answer letters": "people/noor.md",
    "what was lost in the storm from the west": "log/2025-11-04.md",
    "when did the compressor get a new belt": "log/2026-01-19.md",
    "what broke its cable": "log/2026-03-17.md",
    "how many boats sailed in the regatta": "log/2026-05-02.md",
}


def write(root: Path, notes: dict[str, str]) -> None:
    """Writes these notes below a folder."""
    for name, text in notes.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
