//! What the sites of this web talk about. Lists may grow at any time, at the price of every seed's old worlds.
//!
//! In a pattern, `{place}` stands for one of [`PLACES`], and so on; see `prose` for all of them.

/// First half of a host's name. None of them is `atlantis`: hosts of that name are those that do not exist.
pub(crate) const HOSTS: &[&str] = &[
    "orchard", "river", "harbour", "museum", "almanac", "meadow", "lantern", "olive", "granary", "ferry", "library",
    "observatory", "vineyard", "mill", "garden", "causeway", "lighthouse", "quarry", "theatre", "aqueduct", "market",
    "beacon", "abbey", "loom",
];

/// Kinds of site: a class for the template, a pattern for the name, a motto, and the sections of its paths.
pub(crate) const SITES: &[(&str, &str, &str, [&str; 4])] = &[
    (
        "museum",
        "The {Adjective} Museum of {place}",
        "So that what was done is not forgotten by time",
        ["collection", "exhibitions", "letters", "visits"],
    ),
    (
        "town",
        "The Town of {place}",
        "Between the {river} and the sea since {year}",
        ["notices", "streets", "council", "people"],
    ),
    (
        "almanac",
        "The {place} Almanac",
        "Tides, frosts and fair days, set down as they happened",
        ["weather", "harvests", "stars", "tides"],
    ),
    (
        "library",
        "{place} Lending Library",
        "Open to all who wash their hands",
        ["shelves", "readings", "maps", "manuscripts"],
    ),
    (
        "nursery",
        "{person} & Daughters, Nurserymen of {place}",
        "Old {fruit} trees and honest advice",
        ["trees", "grafting", "seasons", "orders"],
    ),
    (
        "society",
        "Historical Society of the {river} Valley",
        "We asked, and this is what they told us",
        ["inquiries", "walks", "minutes", "portraits"],
    ),
    (
        "ferry",
        "The {river} Ferry Company",
        "No crossing in fog, no charge for dogs",
        ["timetables", "boats", "crossings", "fares"],
    ),
    (
        "observatory",
        "{place} Observatory",
        "Clear skies on {count} nights of last winter",
        ["nights", "comets", "instruments", "journal"],
    ),
];

pub(crate) const PLACES: &[&str] = &[
    "Halicarnassus", "Samos", "Sardis", "Miletus", "Ephesus", "Delos", "Naxos", "Corinth", "Thebes", "Argos", "Chios",
    "Lesbos", "Knidos", "Byblos", "Tyre", "Sidon", "Memphis", "Naucratis", "Cyrene", "Thurii", "Croton", "Taras",
    "Massalia", "Olbia", "Sinope", "Trapezus", "Phasis", "Dodona", "Delphi", "Aegina", "Paros", "Thasos", "Abdera",
    "Perinthus", "Sestos", "Abydos", "Kızılköy", "Çeşme", "Ródos", "Sankt Märten",
];

pub(crate) const RIVERS: &[&str] = &[
    "Halys", "Maeander", "Hermus", "Strymon", "Ister", "Borysthenes", "Tanais", "Araxes", "Gyndes", "Choaspes",
    "Peneus", "Scamander", "Asopus", "Tearus", "Hypanis", "Lycus",
];

pub(crate) const PEOPLE: &[&str] = &[
    "Artemisia Vale", "Demaratus Pike", "Xanthe Orchard", "Hecataeus Moor", "Rhodopis Lund", "Aristeas Holm",
    "Mandane Frost", "Democedes Ward", "Phaedyme Locke", "Zopyrus Penn", "Tomyris Reed", "Arion Castle",
    "Gorgo Winter", "Histiaeus Cole", "Pheretima Shaw", "Glaucus Brandt", "Eurydame Finch", "Amasis Thorne",
    "Nitocris Bell", "Salmoxis Grey", "Labda Hurst", "Cleobis Marsh", "Ladice Stone", "Mycerinus Ash",
];

pub(crate) const PEOPLES: &[&str] = &[
    "Scythians", "Lydians", "Carians", "Egyptians", "Medes", "Ionians", "Thracians", "Phoenicians", "Lycians",
    "Cimmerians", "Issedonians", "Budini", "Garamantes", "Paeonians",
];

pub(crate) const THINGS: &[&str] = &[
    "olive press", "bronze mirror", "water clock", "painted chest", "ship's bell", "clay tablet", "lamp", "loom",
    "harvest ledger", "stone well", "silver bowl", "signal tower", "star map", "walnut cradle", "mill wheel",
    "winter cloak", "road marker", "honey jar", "iron key", "threshing floor", "ferry rope", "wax seal",
    "barley loaf", "hunting horn", "golden dolphin", "cedar door",
];

pub(crate) const FRUITS: &[&str] = &[
    "pear", "quince", "fig", "plum", "medlar", "apricot", "olive", "mulberry", "pomegranate", "cherry", "almond",
    "damson", "russet apple", "walnut",
];

pub(crate) const TRADES: &[&str] = &[
    "ferryman", "potter", "midwife", "beekeeper", "weaver", "stonecutter", "surveyor", "scribe", "orchardist", "bell-founder", "shepherd", "physician", "cartwright", "lamplighter", "innkeeper", "harbour pilot",
];

pub(crate) const BEASTS: &[&str] = &[
    "heron", "mule", "hedgehog", "ibis", "goat", "otter", "hound", "crane", "camel", "dormouse", "ox", "swallow",
];

pub(crate) const BUILDINGS: &[&str] = &[
    "granary", "bath house", "old customs shed", "east gate", "reading room", "temple steps", "tannery", "ropewalk",
    "schoolhouse", "boathouse", "bell tower", "council hall", "apple store", "north bridge",
];

pub(crate) const ADJECTIVES: &[&str] = &[
    "old", "small", "forgotten", "northern", "upper", "winter", "painted", "wandering", "honest", "quiet", "second",
    "crooked",
];

pub(crate) const MONTHS: &[&str] = &[
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
];

pub(crate) const WEATHERS: &[&str] = &[
    "a late frost", "a dry wind", "a week of rain", "a mild winter", "hail the size of beans", "a long drought",
    "sea fog", "an early thaw", "a red sunset", "heavy snow",
];

/// Titles of pages.
pub(crate) const SUBJECTS: &[&str] = &[
    "The {thing} of {place}",
    "{person}, {trade}",
    "A {trade} remembers {place}",
    "On the {fruit} trees of {place}",
    "How the {peoples} crossed the {river}",
    "The {adjective} {building}",
    "{month} on the {river}",
    "Notes on a {thing}",
    "The year {year} in {place}",
    "What the {peoples} say of the {beast}",
    "{weather} at {place}",
    "A walk from the {building} to the {river}",
    "Letters of {person}, {year}",
    "The {beast} and the {trade}",
];

pub(crate) const HEADINGS: &[&str] = &[
    "What is known", "What the {trade} said", "At the {building}", "After {year}", "Another account",
    "The {river} in flood", "A word on the {fruit}", "In the time of {person}", "Measurements",
    "Things that are doubted",
];

pub(crate) const SENTENCES: &[&str] = &[
    "The {thing} was found in {year} by a {trade} who had gone down to the {river} to look for a lost {beast}.",
    "Of the {count} that were made, {few} remain, and one of these is kept in {place}.",
    "The {peoples} say that it was carried from {place} on the back of a {beast}; I set down what they say, though I am not bound to believe it.",
    "In {month} the {river} rises as far as the {building}, and boats are tied to its doors.",
    "{person} planted the first {fruit} tree here in {year}, and its grandchildren still bear.",
    "Anyone who has stood at the {building} in {month} will know the smell of {fruits} and wet rope.",
    "The account given by {person} differs in {few} points, of which the most important is the number of ships.",
    "It took {count} men {few} days to raise it, and a {beast} to bring them their bread.",
    "After {weather}, the {trades} of {place} met and agreed to mend the road as far as the {river}.",
    "The distance from {place} to {place} is {count} stades by land, and by sea a day and a night.",
    "No {trade} in {place} will begin work before the first {beast} of spring has been seen.",
    "What became of the second {thing} I could not learn with certainty, although I asked in {place} and again in {place}.",
    "The ledger for {year} lists {count} baskets of {fruits}, {count} jars of honey and one {thing}, broken.",
    "Visitors are asked not to touch the {thing}, which is older than the {building} and less patient.",
    "There was {weather} in {month} {year}, and the {fruits} were small but sweet.",
    "{person} wrote that the {building} could be seen from the far bank “like a {thing} left out overnight”.",
    "The inscription has been read in {few} ways, none of which pleases the {trades}.",
    "Among the {peoples} the {trade} is honoured above the general, for reasons which seemed good to them.",
    "In {place} they tell it otherwise, and their version has the {beast} survive.",
    "A narrow stair behind the {building} leads up to the terrace where the {fruits} are dried.",
    "The ferry carried {count} people, {few} carts and a {beast} on the day of the fair.",
    "It was repaired in {year}, twice more within living memory, and has been left alone since.",
    "Every {month} the children of {place} carry a {thing} around the {building} and are given {fruits}.",
    "The {river} is crossed here by a bridge of {few} arches, the middle one of which is {person}’s.",
    "Some hold that the {peoples} taught this to the {peoples}; others, who have been there, hold the reverse.",
    "{person} kept bees, wrote {few} books, and was for a time the only {trade} between {place} and the {river}.",
    "The roof fell in after {weather}, and for {few} years the readings were held under the {fruit} trees.",
    "Measured again this year, the wall came to {count} feet, which is {few} more than the plans allow.",
    "I have seen the {thing} myself, and it is smaller than people say.",
    "The fare was one obol, or a {fruit}; a {beast} crossed for nothing.",
    "When the {building} was taken down, {count} letters were found beneath the floor, most of them about {fruits}.",
    "It is the custom in {place} to leave the last {fruit} on the tree.",
    "The oldest map shows a {building} where there is now only grass and, on some mornings, a {beast}.",
    "{person} disagreed, and said so at the meeting of {day} {month} {year}.",
    "For the rest, the reader may go to {place} and ask.",
    "Whether it rang in {year}, when the {river} froze, is disputed to this day.",
    "Its keeper, a retired {trade}, opens the door to anyone who brings news of {place}.",
    "So much, then, for the {thing}; I return to the {building}, where I left off.",
];

pub(crate) const NEWS: &[&str] = &[
    "The {building} is closed for repairs; please use the side door and mind the {beast}.",
    "{person} will speak on “The {thing} of {place}” at seven. Lamps provided.",
    "{count} baskets of {fruits} have come in. Helpers wanted.",
    "The {river} stands at {few} feet above the mark after {weather}.",
    "Found near the {building}: one {thing}. The owner should describe it.",
    "A letter from {place} has been added to the collection.",
    "The {trade} {person} has retired after {few} decades and is thanked by all.",
    "{count} visitors came last week, of whom {few} had walked from {place}.",
    "The {beast} has returned to the {building}.",
    "New in the garden: a {fruit} tree grafted in {month}.",
    "Minutes of the {month} meeting can now be read.",
    "A crossing has been cancelled owing to {weather}.",
];
