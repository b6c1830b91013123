"""In which of Seesaw-CF's four fields common occupations are, by their numbers in Wikidata.

The authors' table has fields of study and few occupations; this one is ours.
"""

ARTS = """
    actor 33999, animator 266569, architect 42973, bassist 584301, character actor 948329, cinematographer
    222344, comedian 245068, composer 36834, conductor 158852, costume designer 1323191, dancer 5716684,
    disc jockey 130857, drummer 386854, film actor 10800557, film director 2526255, film producer 3282637,
    film score composer 1415090, guitarist 855091, illustrator 644687, model 4610556, musician 639669,
    painter 1028181, photographer 33231, pianist 486748, record producer 183945, scenographer 2707485,
    screenwriter 28389, sculptor 1281618, singer 177220, singer-songwriter 488205, songwriter 753110,
    television presenter 947873, television producer 578109, voice actor 2405480
"""
HUMANITIES = """
    author 482980, essayist 11774202, journalist 1930187, linguist 14467526, news presenter 270389,
    novelist 6625963, philosopher 4964182, playwright 214917, poet 49757, theologian 1234713, writer 36180
"""
SCIENCE = """
    astronomer 11063, biologist 864503, chemist 593644, computer scientist 82594, engineer 81096,
    geologist 520549, inventor 205375, mathematician 170790, naturalist 18805, physician 39631, physicist
    169470, scientist 901
"""
SOCIAL_SCIENCE = """
    businessperson 43845, diplomat 193391, economist 188094, entrepreneur 131524, historian 201788, judge
    16533, lawyer 40348, politician 82955, psychologist 212980, spokesperson 17221, teacher 37226,
    university teacher 1622272
"""
FIELD_OF = {
    int(occupation.split()[-1]): field
    for field, occupations in (
        ("arts", ARTS),
        ("humanities", HUMANITIES),
        ("science", SCIENCE),
        ("social science", SOCIAL_SCIENCE),
    )
    for occupation in occupations.split(",")
}
