WITH near AS (
    SELECT key, RANK() OVER (ORDER BY embedding <=> %(vector)s) AS place FROM chunks
    ORDER BY embedding <=> %(vector)s LIMIT 20
), matching AS (
    SELECT key, RANK() OVER (ORDER BY ts_rank_cd(to_tsvector('english', text), query) DESC) AS place
    FROM chunks, plainto_tsquery('english', %(question)s) AS query
    WHERE to_tsvector('english', text) @@ query
    ORDER BY ts_rank_cd(to_tsvector('english', text), query) DESC, key COLLATE "C" LIMIT 20
)
SELECT coalesce(near.key, matching.key) AS found,
    (coalesce(1.0 / (60 + near.place), 0) + coalesce(1.0 / (60 + matching.place), 0))::float8 AS score
FROM near FULL OUTER JOIN matching ON near.key = matching.key ORDER BY score DESC, 1 LIMIT 5
