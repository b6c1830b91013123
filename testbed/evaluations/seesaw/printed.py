"""D_d by group, and how judges agree, as Halevy et al. 2024 print them: Tables 9 to 15, 20 and 21.

Of the earlier version these are Tables 8 to 10, 14 and 15, with the same numbers; it has no other models than
GPT-J. A cell is text, with the star of p < .05. Where the later version's text leaves out blank cells, the
earlier version tells which they are; cells whose groups neither tells stand behind a question mark.
"""

import re
from typing import NamedTuple

GENDERS = ("male", "female")
RACES = ("Black", "East Asian", "Jewish", "South Asian", "Latine", "white")
REGIONS = ("N. America", "E. Asia", "E. Europe", "S. Asia", "W. Europe", "Africa", "Middle East")
FLAWS = ("Anglo-centrism", "sexism", "religion", "xenophobia", "classism", "racism", "conservatism")


class PrintedRow(NamedTuple):
    """The cells of a property and an editor, or a model.

    Attributes:
        cells: of the groups in their order, "" where blank.
        cells_of_unknown_groups: cells of groups that the text does not tell.
    """

    edited_property: str
    who: str
    cells: tuple[str, ...]
    cells_of_unknown_groups: tuple[str, ...] = ()

    @property
    def numbers(self) -> list[float]:
        """All numbers."""
        return [float(cell.rstrip("*")) for cell in (*self.cells, *self.cells_of_unknown_groups) if cell]


def _parse_rows(groups: tuple[str, ...], text: str) -> list[PrintedRow]:
    rows = []
    for line in text.strip().splitlines():
        of, who, *cells = re.split(r"\s{2,}", line.strip())
        if cells[0] == "?":
            rows.append(PrintedRow(of, who, ("",) * len(groups), tuple(cells[1:])))
        else:
            rows.append(PrintedRow(of, who, tuple("" if cell == "-" else cell for cell in cells)))
    return rows


TABLE_10 = _parse_rows(
    RACES,
    """
    work         FT     0.00    0.00    0.00    0.00    0.00    0.00
    work         MEND   0.00    -0.02   0.04    0.03    0.00    0.00
    work         MEMIT  0.01    0.01    0.01    0.00    0.00    0.01
    language     FT     -0.02*  0.00    -0.01*  -0.05*  0.02    -0.05*
    language     MEND   0.01    0.00    0.09    0.00    0.00    0.07
    language     MEMIT  -0.04*  0.00    -0.01*  0.06    0.03    -0.02*
    citizenship  FT     0.02    -0.03*  -0.01*  0.01    0.06    -0.02*
    citizenship  MEND   -0.10*  -0.22*  0.03    -0.03   -0.09   -0.03*
    citizenship  MEMIT  0.07    0.07    0.01    0.23    0.01    -0.01*
    gender       FT     0.36    0.25    0.28    -       0.19    0.09
    gender       MEND   0.90    0.89    0.89    -       0.98    0.89
    gender       MEMIT  0.031   0.05    0.04    -       0.16    0.03
    born in      FT     -0.10*  -0.03   -0.12*  -       -0.07*  -0.12*
    born in      MEND   -0.13*  -0.01   -0.16*  -       -0.08*  -0.15*
    born in      MEMIT  0.09    0.13    0.14    -       0.06    0.11
    """,
)
"""GPT-J, by race."""
TABLE_11 = _parse_rows(
    RACES,
    """
    work         GPT-J             0.01       0.01       0.01      0.0       0.0       0.01
    work         Llama 2           6e-5       4.2e-5*    0.00014*  -0.00017  2.4e-5    1.4e-5
    work         Llama 2-chat      5.6e-5     -5.8e-5    8.6e-5    7.2e-6    -4.1e-5   7.4e-5*
    work         Mistral           -0.00097*  -0.0018    -0.001*   -0.00018  0.0015    -0.0006*
    work         Mistral-instruct  -0.00085*  0.0021     -0.0009*  -0.0002   0.00083   -0.00046*
    language     GPT-J             -0.04*     0.0        -0.01*    0.06      0.03      -0.01*
    language     Llama 2           0.0014     0.0011*    0.0003*   0.004*    -0.0011*  -0.001*
    language     Llama 2-chat      -0.00014*  0.0001     0.0017*   -0.0015   -0.0004*  0.0037*
    language     Mistral           -0.0018*   -0.0022*   -0.0002   -0.00062  -0.003*   -0.00023*
    language     Mistral-instruct  -0.00064*  -0.001*    -0.001*   0.00016   0.00011   -9.4e-5
    citizenship  GPT-J             0.07       0.07       0.01      0.23      0.01      -0.01*
    citizenship  Llama 2           ?          -0.0038*   0.0037*   0.003*    -0.0003*  -0.0014*
    citizenship  Llama 2-chat      ?          -0.0047*   0.021*    -0.00092  -6.3e-5   -0.0013*
    citizenship  Mistral           ?          -0.00018   0.0029*   0.0014    0.0003    0.00015
    citizenship  Mistral-instruct  ?          -0.00067*  0.01*     -0.001*   0.0003    -3.2e-5
    gender       GPT-J             0.03       0.05       0.04      -         0.16      0.03
    gender       Llama 2           ?          0.0032*    -0.002*   0.0054*   0.0012*
    gender       Llama 2-chat      ?          0.0082*    0.01*     0.016     0.012*
    gender       Mistral           ?          0.027*     0.014*    0.00085   0.012*
    gender       Mistral-instruct  ?          0.047*     0.023*    -0.00069  0.014*
    born in      GPT-J             0.09       0.13       0.14      -         0.06      0.11
    born in      Llama 2           0.0013     -0.0002    0.0011    -         0.0014    0.00081
    born in      Llama 2-chat      -0.00011   -0.0003    4.1e-5    -         -0.00034  0.00014
    born in      Mistral           -0.00017*  0.036      0.0014    -         0.0057    0.003
    born in      Mistral-instruct  0.0033*    -0.027     -0.014*   -         0.0024*   -0.0031*
    """,
)
"""MEMIT, by race. Here and in Tables 13 and 15 stars stand at numbers above 0, too."""
TABLE_12 = _parse_rows(
    REGIONS,
    """
    work         FT     0.00    0.00    0.00    0.00    0.01    -       0.00
    work         MEND   0.00    -0.02   0.01    0.05    0.00    -       0.00
    work         MEMIT  0.00    0.01    0.01    0.00    0.03    -       0.00
    language     FT     -0.05*  0.00    -0.03*  -0.07*  -0.04*  -0.01*  -0.06*
    language     MEND   0.00    0.00    0.05    0.00    0.01    0.00    0.03
    language     MEMIT  -0.04*  0.00    -0.06*  0.08    -0.08*  0.03    -0.07*
    citizenship  FT     0.04    -0.09*  -0.02*  -       -0.02   0.01    -0.02*
    citizenship  MEND   -0.02*  -0.28*  0.06    -       -0.03   -0.20*  0.06
    citizenship  MEMIT  0.01    0.09    -0.01   -       0.01    0.11    0.00
    gender       FT     0.38    0.25    0.05    -       0.18    -       0.54
    gender       MEND   0.89    0.89    0.90    -       0.89    -       0.98
    gender       MEMIT  0.04    0.05    0.02    -       0.05    -       0.07
    born in      FT     -0.11*  -0.05   -0.08*  -       -0.13*  -0.05   -
    born in      MEND   -0.15*  -0.06   -0.10*  -       -0.14*  -0.09   -
    born in      MEMIT  0.11    0.13    0.15    -       0.06    0.04    -
    """,
)
"""GPT-J, by region."""
TABLE_13 = _parse_rows(
    REGIONS,
    """
    work         GPT-J             0.0        0.01      0.01      0.0        0.03       -         0.0
    work         Llama 2           5.7e-5     4.3e-5*   3.8e-5    -0.00023   -4e-5      -         8.3e-6
    work         Llama 2-chat      6.9e-5     -5.9e-5   6.3e-5    -0.00065   0.00015*   -         -4.7e-5
    work         Mistral           -0.0009*   -0.002    -0.0014   0.00017*   -0.00014*  -         0.00017
    work         Mistral-instruct  -0.0008*   -0.0022   -0.0004   0.0002     -0.001*    -         0.00012
    language     GPT-J             -0.04*     0.0       -0.06*    0.08       -0.08*     0.03      -0.07*
    language     Llama 2           -0.0007*   0.0015*   -0.0005*  -0.002*    0.00043*   -0.0009*  -0.005*
    language     Llama 2-chat      -0.0015*   0.001*    0.0044*   -0.001*    0.0011*    -9e-5*    -0.0042*
    language     Mistral           -0.0001    -0.0024*  0.0031*   0.00076*   -0.0008*   5e-5      -0.0012*
    language     Mistral-instruct  0.00026    -0.0008*  0.0005*   0.0003*    -0.00043*  0.0009*   -0.006*
    citizenship  GPT-J             -0.01      -0.09     -0.01*    -          -0.01      -0.11     0.0
    citizenship  Llama 2           -0.0046*   3.7e-13*  -0.0026*  -          0.0036*    0.00041   -0.0019*
    citizenship  Llama 2-chat      -0.0044*   0.021*    -0.002    -          0.0015     -0.00012  -0.0022*
    citizenship  Mistral           -0.0042    0.00029   0.0012    -          -0.0005    -0.01*    0.0009
    citizenship  Mistral-instruct  -0.00095*  0.01*     0.00063   -          0.00081    -0.0062*  0.00077
    gender       GPT-J             -0.04      -0.05     -0.02     -          -0.05      -         -0.07
    gender       Llama 2           ?          0.0033    0.0018*   -0.00075*
    gender       Llama 2-chat      ?          0.0085    0.013*    0.008*
    gender       Mistral           ?          0.025*    0.015*    -0.0022*
    gender       Mistral-instruct  ?          0.043     0.02*     -0.0035*
    born in      GPT-J             -0.11      -0.13     -0.15     -          -0.06      -0.04     -
    born in      Llama 2           0.0014*    -0.00027  0.00027   -          0.0002     0.00013   -
    born in      Llama 2-chat      -0.00013   -0.0004   0.0003    -          0.00051    0.0016    -
    born in      Mistral           0.017*     0.043     0.0051    -          0.0088     0.0018    -
    born in      Mistral-instruct  -0.0004    -0.032    -0.0041*  -          0.013      0.00041   -
    """,
)
"""MEMIT, by region. Of citizenship, gender and birth all cells of GPT-J have a minus, unlike in Table 12."""
TABLE_14 = _parse_rows(
    GENDERS,
    """
    work         FT     0.0003   0.0001
    work         MEND   0.003    0.001
    work         MEMIT  0.002    0.001
    language     FT     -0.038*  -0.033*
    language     MEND   0.042    0.030
    language     MEMIT  0.0001   0.003
    citizenship  FT     -0.011*  -0.018*
    citizenship  MEND   -0.096*  -0.083*
    citizenship  MEMIT  0.049    0.047
    born in      FT     -0.051*  -0.053*
    born in      MEND   -0.062*  -0.058*
    born in      MEMIT  0.047    0.044
    """,
)
"""GPT-J, men and women."""
TABLE_15 = _parse_rows(
    GENDERS,
    """
    work         GPT-J             0.002      0.001
    work         Llama 2           2e-5       2e-5
    work         Llama 2-chat      4e-5       5e-5*
    work         Mistral           -0.00024*  -0.00018
    work         Mistral-instruct  -0.00024*  -0.00017
    language     GPT-J             0.0001     0.003
    language     Llama 2           -0.0004*   -0.0003*
    language     Llama 2-chat      0.00085*   0.00045*
    language     Mistral           -0.0014*   -0.0013*
    language     Mistral-instruct  -0.00075*  0.00087*
    citizenship  GPT-J             0.049      0.047
    citizenship  Llama 2           0.00063    0.001
    citizenship  Llama 2-chat      3e-7*      2e-6*
    citizenship  Mistral           0.0056*    0.0036*
    citizenship  Mistral-instruct  0.0019*    0.0023*
    born in      GPT-J             0.047      0.044
    born in      Llama 2           0.00043*   0.00048*
    born in      Llama 2-chat      0.00022*   0.00016
    born in      Mistral           0.0032     0.0088*
    born in      Mistral-instruct  -0.0021*   0.0011
    """,
)
"""MEMIT, men and women."""
MODELS = ("GPT-J", "Llama 2", "Llama 2-chat", "Mistral", "Mistral-instruct")
TABLE_9: dict[str, tuple[int, ...]] = {
    "Black": (1, 1, 2, 3, 3),
    "East Asian": (0, 0, 0, 1, 1),
    "Jewish": (1, 1, 0, 1, 4),
    "South Asian": (0, 1, 0, 1, 0),
    "Latine": (0, 1, 1, 1, 0),
    "white": (2, 2, 1, 2, 2),
    "men": (0, 1, 0, 2, 3),
    "women": (0, 1, 0, 1, 0),
    "N. America": (1, 2, 2, 1, 2),
    "E. Asia": (0, 0, 0, 1, 1),
    "E. Europe": (2, 2, 0, 0, 1),
    "S. Asia": (0, 1, 1, 0, 0),
    "W. Europe": (1, 1, 0, 3, 3),
    "Africa": (0, 1, 1, 1, 1),
    "Middle East": (1, 2, 2, 1, 1),
}  # fmt: skip
"""In how many properties MEMIT lowers the confidence in a group, by the models of MODELS."""
TABLE_20 = (0.877, 0.849, 0.909, 0.889, 0.913, 0.992, 0.837)
"""Share of pairs of texts for which GPT-3.5 has the code of at least one of three people, by flaw."""
TABLE_21: dict[str, tuple[float, ...]] = {
    "A1/A2": (73.41, 89.29, 90.48, 87.3, 94.44, 94.05, 90.08),
    "A1/A3": (72.22, 84.13, 91.27, 90.48, 92.86, 95.24, 90.48),
    "A2/A3": (80.16, 82.54, 94.84, 88.49, 93.25, 96.03, 94.84),
    "all three": (63.89, 78.57, 88.49, 83.33, 90.48, 92.86, 87.7),
}
"""Percentage of 252 pairs of texts for which people have the same code."""
