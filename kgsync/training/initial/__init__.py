"""Initial vectors of new elements (alg. TDSM_init): order, evidence, closed forms, pretraining."""
