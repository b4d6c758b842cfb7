"""The papers behind the methods, by the keys that ``Method.reference`` uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """One entry of a bibliography.

    Parameters
    ----------
    key, author, title, venue : str
        ``author`` as in BibTeX, "Family, Given and Family, Given".
    year : int
    url : str
        An empty venue or address is left out of the entry.
    kind : str, default "inproceedings"
        BibTeX entry type.

    Examples
    --------
    >>> REFERENCES["nodet2021"].short
    'Nodet et al.'
    >>> print(REFERENCES["wang2021"].bibtex())
    @inproceedings{wang2021,
      author = {Wang, Jialu and Liu, Yang and Levy, Caleb},
      title = {Fair Classification with Group-Dependent Label Noise},
      booktitle = {Conference on Fairness, Accountability, and Transparency (FAccT)},
      year = {2021},
      url = {https://arxiv.org/abs/2011.00379}
    }
    """

    key: str
    author: str
    title: str
    venue: str
    year: int
    url: str
    kind: str = "inproceedings"

    @property
    def short(self) -> str:
        """Who wrote it, as in running text."""
        family = [name.split(",")[0].strip("{}") for name in self.author.split(" and ")]
        return " & ".join(family) if len(family) < 3 else f"{family[0]} et al."

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        where = {"inproceedings": "booktitle", "article": "journal", "software": "howpublished"}
        fields = {
            "author": self.author,
            "title": self.title,
            where[self.kind]: self.venue,
            "year": str(self.year),
            "url": self.url,
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        return f"@{self.kind}{{{self.key},\n{lines}\n}}"


_ICLR = "International Conference on Learning Representations (ICLR)"
_ICML = "International Conference on Machine Learning (ICML)"
_NEURIPS = "Advances in Neural Information Processing Systems (NeurIPS)"
_ARXIV = "https://arxiv.org/abs/"

# (key, authors, title, venue, year, url)
_PAPERS = (
    ("tjandra2023", "Tjandra, Donna and Wiens, Jenna",
     "Leveraging an Alignment Set in Tackling Instance-Dependent Label Noise",
     "Conference on Health, Inference, and Learning (CHIL), PMLR 209", 2023,
     "https://proceedings.mlr.press/v209/tjandra23a.html"),
    ("arpit2017", "Arpit, Devansh and Jastrz{\\k{e}}bski, Stanis{\\l}aw and Ballas, Nicolas and "
     "Krueger, David and Bengio, Emmanuel and Kanwal, Maxinder S. and Maharaj, Tegan and "
     "Fischer, Asja and Courville, Aaron and Bengio, Yoshua and Lacoste-Julien, Simon",
     "A Closer Look at Memorization in Deep Networks", _ICML, 2017, _ARXIV + "1706.05394"),
    ("chen2021", "Chen, Pengfei and Chen, Guangyong and Ye, Junjie and Zhao, Jingwei and "
     "Heng, Pheng-Ann",
     "Noise against Noise: Stochastic Label Noise Helps Combat Inherent Label Noise",
     _ICLR, 2021, "https://openreview.net/forum?id=80FMcTSZ6J0"),
    ("englesson2021", "Englesson, Erik and Azizpour, Hossein",
     "Generalized {Jensen-Shannon} Divergence Loss for Learning with Noisy Labels",
     _NEURIPS, 2021, _ARXIV + "2105.04522"),
    ("xia2020", "Xia, Xiaobo and Liu, Tongliang and Han, Bo and Wang, Nannan and Gong, Mingming "
     "and Liu, Haifeng and Niu, Gang and Tao, Dacheng and Sugiyama, Masashi",
     "Part-Dependent Label Noise: Towards Instance-Dependent Label Noise",
     _NEURIPS, 2020, _ARXIV + "2006.07836"),
    ("berthon2021", "Berthon, Antonin and Han, Bo and Niu, Gang and Liu, Tongliang and "
     "Sugiyama, Masashi",
     "Confidence Scores Make Instance-Dependent Label-Noise Learning Possible",
     _ICML, 2021, _ARXIV + "2001.03772"),
    ("wang2021", "Wang, Jialu and Liu, Yang and Levy, Caleb",
     "Fair Classification with Group-Dependent Label Noise",
     "Conference on Fairness, Accountability, and Transparency (FAccT)", 2021,
     _ARXIV + "2011.00379"),
    ("liu2020peer", "Liu, Yang and Guo, Hongyi",
     "Peer Loss Functions: Learning from Noisy Labels without Knowing Noise Rates",
     _ICML, 2020, _ARXIV + "1910.03231"),
    ("hendrycks2018", "Hendrycks, Dan and Mazeika, Mantas and Wilson, Duncan and Gimpel, Kevin",
     "Using Trusted Data to Train Deep Networks on Labels Corrupted by Severe Noise",
     _NEURIPS, 2018, _ARXIV + "1802.05300"),
    ("patrini2017", "Patrini, Giorgio and Rozza, Alessandro and Menon, Aditya Krishna and "
     "Nock, Richard and Qu, Lizhen",
     "Making Deep Neural Networks Robust to Label Noise: A Loss Correction Approach",
     "Conference on Computer Vision and Pattern Recognition (CVPR)", 2017, _ARXIV + "1609.03683"),
    ("goldberger2017", "Goldberger, Jacob and Ben-Reuven, Ehud",
     "Training Deep Neural-Networks Using a Noise Adaptation Layer",
     _ICLR, 2017, "https://openreview.net/forum?id=H12GRgcxg"),
    ("nodet2021", "Nodet, Pierre and Lemaire, Vincent and Bondu, Alexis and "
     "Cornu{\\'e}jols, Antoine and Ouorou, Adam",
     "Importance Reweighting for Biquality Learning",
     "International Joint Conference on Neural Networks (IJCNN)", 2021, _ARXIV + "2010.09621"),
    ("ren2018", "Ren, Mengye and Zeng, Wenyuan and Yang, Bin and Urtasun, Raquel",
     "Learning to Reweight Examples for Robust Deep Learning", _ICML, 2018, _ARXIV + "1803.09050"),
    ("shu2019", "Shu, Jun and Xie, Qi and Yi, Lixuan and Zhao, Qian and Zhou, Sanping and "
     "Xu, Zongben and Meng, Deyu",
     "{Meta-Weight-Net}: Learning an Explicit Mapping for Sample Weighting",
     _NEURIPS, 2019, _ARXIV + "1902.07379"),
    ("han2018", "Han, Bo and Yao, Quanming and Yu, Xingrui and Niu, Gang and Xu, Miao and "
     "Hu, Weihua and Tsang, Ivor W. and Sugiyama, Masashi",
     "Co-teaching: Robust Training of Deep Neural Networks with Extremely Noisy Labels",
     _NEURIPS, 2018, _ARXIV + "1804.06872"),
    ("liu2020elr", "Liu, Sheng and Niles-Weed, Jonathan and Razavian, Narges and "
     "Fernandez-Granda, Carlos",
     "Early-Learning Regularization Prevents Memorization of Noisy Labels",
     _NEURIPS, 2020, _ARXIV + "2007.00151"),
)  # fmt: skip

_OTHERS = (
    Reference("northcutt2021", "Northcutt, Curtis G. and Jiang, Lu and Chuang, Isaac L.",
              "Confident Learning: Estimating Uncertainty in Dataset Labels",
              "Journal of Artificial Intelligence Research", 2021, _ARXIV + "1911.00068",
              kind="article"),
    Reference("alignset", "{The alignset developers}",
              "alignset: learning from noisy labels with a reviewed subset", "", 2026, "",
              kind="software"),
)  # fmt: skip

REFERENCES = {paper.key: paper for paper in (*(Reference(*p) for p in _PAPERS), *_OTHERS)}
"""Key -> entry; ``alignset`` is this software."""
