import jax
import jax.numpy as jnp


@jax.custom_vjp
def rotate2d(theta, p):
    if p.ndim != 2 or p.shape[1] != 2 or theta.shape != p.shape[:1]:
        raise ValueError("expected theta (N,) and p (N, 2)")
    c, s = jnp.cos(theta), jnp.sin(theta)
    return jnp.stack([c * p[:, 0] - s * p[:, 1], s * p[:, 0] + c * p[:, 1]], axis=1)


def rotate2d_fwd(theta, p):
    return rotate2d(theta, p), (theta, p)


def rotate2d_bwd(res, g):
    theta, p = res
    c, s = jnp.cos(theta), jnp.sin(theta)
    x, y = p[:, 0], p[:, 1]
    dtheta = g[:, 0] * (-s * x - c * y) + g[:, 1] * (c * x + s * y)
    return dtheta, jnp.stack([c * g[:, 0] + s * g[:, 1], -s * g[:, 0] + c * g[:, 1]], axis=1)


rotate2d.defvjp(rotate2d_fwd, rotate2d_bwd)


def _qmul(p, q):
    a, b, c, d = jnp.moveaxis(p, -1, 0)
    e, f, g, h = jnp.moveaxis(q, -1, 0)
    return jnp.stack([a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
                      a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e], axis=-1)


def _conj(q):
    return q * jnp.array([1, -1, -1, -1], q.dtype)


@jax.custom_vjp
def quat_mul(p, q):
    if p.shape != q.shape or p.ndim < 1 or p.shape[-1] != 4:
        raise ValueError("expected two arrays (..., 4)")
    return _qmul(p, q)


def quat_mul_fwd(p, q):
    return quat_mul(p, q), (p, q)


def quat_mul_bwd(res, g):
    p, q = res
    return _qmul(g, _conj(q)), _qmul(_conj(p), g)


quat_mul.defvjp(quat_mul_fwd, quat_mul_bwd)


@jax.custom_vjp
def quat_matrix(q):
    if q.shape != (4,):
        raise ValueError("expected one quaternion")
    w, x, y, z = q
    return jnp.array([[w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
                      [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
                      [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z]])


def quat_matrix_fwd(q):
    return quat_matrix(q), q


def quat_matrix_bwd(q, m):
    w, x, y, z = q
    dw = w * (m[0, 0] + m[1, 1] + m[2, 2]) + z * (m[1, 0] - m[0, 1]) + y * (m[0, 2] - m[2, 0]) + x * (m[2, 1] - m[1, 2])
    dx = x * (m[0, 0] - m[1, 1] - m[2, 2]) + y * (m[0, 1] + m[1, 0]) + z * (m[0, 2] + m[2, 0]) + w * (m[2, 1] - m[1, 2])
    dy = y * (m[1, 1] - m[0, 0] - m[2, 2]) + x * (m[0, 1] + m[1, 0]) + z * (m[1, 2] + m[2, 1]) + w * (m[2, 0] - m[0, 2])
    dz = z * (m[2, 2] - m[0, 0] - m[1, 1]) + x * (m[0, 2] + m[2, 0]) + y * (m[1, 2] + m[2, 1]) + w * (m[1, 0] - m[0, 1])
    return (2 * jnp.stack([dw, dx, dy, dz]),)


quat_matrix.defvjp(quat_matrix_fwd, quat_matrix_bwd)


@jax.custom_vjp
def polar(x, y):
    if x.shape != y.shape:
        raise ValueError("shapes differ")
    return 0.5 * jnp.log(x * x + y * y), jnp.arctan2(y, x)


def polar_fwd(x, y):
    return polar(x, y), (x, y)


def polar_bwd(res, g):
    x, y = res
    gr, gt = g
    n = x * x + y * y
    return (gr * x - gt * y) / n, (gr * y + gt * x) / n


polar.defvjp(polar_fwd, polar_bwd)


@jax.custom_vjp
def ray_sphere(o, d, radius):
    if o.ndim != 2 or o.shape[1] != 3 or o.shape != d.shape or radius.ndim:
        raise ValueError("expected o (N, 3), d (N, 3) and one radius")
    a, b, c = (d * d).sum(1), (o * d).sum(1), (o * o).sum(1) - radius * radius
    return (-b - jnp.sqrt(b * b - a * c)) / a


def ray_sphere_fwd(o, d, radius):
    t = ray_sphere(o, d, radius)
    return t, (o, d, radius, t)


def ray_sphere_bwd(res, g):
    o, d, radius, t = res
    p = o + t[:, None] * d
    k = g / (p * d).sum(1)
    return -k[:, None] * p, -(k * t)[:, None] * p, radius * k.sum()


ray_sphere.defvjp(ray_sphere_fwd, ray_sphere_bwd)


@jax.custom_vjp
def homography(h, pts):
    if h.shape != (3, 3) or pts.ndim != 2 or pts.shape[1] != 2:
        raise ValueError("expected h (3, 3) and pts (N, 2)")
    q = jnp.concatenate([pts, jnp.ones_like(pts[:, :1])], axis=1) @ h.T
    return q[:, :2] / q[:, 2:]


def homography_fwd(h, pts):
    return homography(h, pts), (h, pts)


def homography_bwd(res, g):
    h, pts = res
    p = jnp.concatenate([pts, jnp.ones_like(pts[:, :1])], axis=1)
    q = p @ h.T
    uv = q[:, :2] / q[:, 2:]
    dq = jnp.concatenate([g, -(g * uv).sum(1, keepdims=True)], axis=1) / q[:, 2:]
    return dq.T @ p, g / q[:, 2:] @ h[:2, :2]


homography.defvjp(homography_fwd, homography_bwd)


@jax.custom_vjp
def haversine(lat1, lon1, lat2, lon2):
    if not lat1.shape == lon1.shape == lat2.shape == lon2.shape:
        raise ValueError("shapes differ")
    h = jnp.sin((lat2 - lat1) / 2) ** 2 + jnp.cos(lat1) * jnp.cos(lat2) * jnp.sin((lon2 - lon1) / 2) ** 2
    return 2 * jnp.arcsin(jnp.sqrt(h))


def haversine_fwd(lat1, lon1, lat2, lon2):
    return haversine(lat1, lon1, lat2, lon2), (lat1, lon1, lat2, lon2)


def haversine_bwd(res, g):
    lat1, lon1, lat2, lon2 = res
    sl = jnp.sin((lon2 - lon1) / 2) ** 2
    h = jnp.sin((lat2 - lat1) / 2) ** 2 + jnp.cos(lat1) * jnp.cos(lat2) * sl
    k = g / jnp.sqrt(h * (1 - h))
    dl = 0.5 * jnp.sin(lat2 - lat1)
    dlon = 0.5 * k * jnp.cos(lat1) * jnp.sin(lon2 - lon1)
    return k * (-dl - jnp.sin(lat1) * jnp.cos(lat2) * sl), -dlon, k * (dl - jnp.cos(lat1) * jnp.sin(lat2) * sl), dlon


haversine.defvjp(haversine_fwd, haversine_bwd)


@jax.custom_vjp
def facet_normal(a, b, c):
    if a.ndim != 2 or a.shape[1] != 3 or a.shape != b.shape or a.shape != c.shape:
        raise ValueError("expected three lists of points (N, 3)")
    return jnp.cross(b - a, c - a)


def facet_normal_fwd(a, b, c):
    return facet_normal(a, b, c), (a, b, c)


def facet_normal_bwd(res, g):
    a, b, c = res
    db = jnp.cross(c - a, g)
    dc = jnp.cross(g, b - a)
    return -db - dc, db, dc


facet_normal.defvjp(facet_normal_fwd, facet_normal_bwd)


def _cell(shape, xy):
    h, w = shape
    x, y = jnp.clip(xy[:, 0], 0, w - 1), jnp.clip(xy[:, 1], 0, h - 1)
    i = jnp.clip(jnp.floor(y), 0, h - 2).astype(jnp.int32)
    j = jnp.clip(jnp.floor(x), 0, w - 2).astype(jnp.int32)
    return i, j, y - i, x - j


@jax.custom_vjp
def sample_image(img, xy):
    if img.ndim != 2 or min(img.shape) < 2 or xy.ndim != 2 or xy.shape[1] != 2:
        raise ValueError("expected img (H, W) and xy (N, 2)")
    i, j, v, u = _cell(img.shape, xy)
    top = img[i, j] * (1 - u) + img[i, j + 1] * u
    low = img[i + 1, j] * (1 - u) + img[i + 1, j + 1] * u
    return top * (1 - v) + low * v


def sample_image_fwd(img, xy):
    return sample_image(img, xy), (img, xy)


def sample_image_bwd(res, g):
    img, xy = res
    h, w = img.shape
    i, j, v, u = _cell(img.shape, xy)
    d = jnp.zeros_like(img)
    d = d.at[i, j].add(g * (1 - u) * (1 - v)).at[i, j + 1].add(g * u * (1 - v))
    d = d.at[i + 1, j].add(g * (1 - u) * v).at[i + 1, j + 1].add(g * u * v)
    gx = (img[i, j + 1] - img[i, j]) * (1 - v) + (img[i + 1, j + 1] - img[i + 1, j]) * v
    gy = (img[i + 1, j] - img[i, j]) * (1 - u) + (img[i + 1, j + 1] - img[i, j + 1]) * u
    inx = (xy[:, 0] >= 0) & (xy[:, 0] <= w - 1)
    iny = (xy[:, 1] >= 0) & (xy[:, 1] <= h - 1)
    return d, jnp.stack([jnp.where(inx, g * gx, 0), jnp.where(iny, g * gy, 0)], axis=1)


sample_image.defvjp(sample_image_fwd, sample_image_bwd)


@jax.custom_vjp
def lerp_rows(table, t):
    if table.ndim != 2 or table.shape[0] < 2 or t.ndim != 1:
        raise ValueError("expected table (K, D) with K > 1 and t (N,)")
    u = jnp.clip(t, 0.0, 1.0) * (table.shape[0] - 1)
    i = jnp.clip(jnp.floor(u), 0, table.shape[0] - 2).astype(jnp.int32)
    f = (u - i)[:, None]
    return table[i] * (1 - f) + table[i + 1] * f


def lerp_rows_fwd(table, t):
    return lerp_rows(table, t), (table, t)


def lerp_rows_bwd(res, g):
    table, t = res
    k = table.shape[0]
    u = jnp.clip(t, 0.0, 1.0) * (k - 1)
    i = jnp.clip(jnp.floor(u), 0, k - 2).astype(jnp.int32)
    f = (u - i)[:, None]
    d = jnp.zeros_like(table).at[i].add(g * (1 - f)).at[i + 1].add(g * f)
    dt = (g * (table[i + 1] - table[i])).sum(1) * (k - 1)
    return d, dt


lerp_rows.defvjp(lerp_rows_fwd, lerp_rows_bwd)


@jax.custom_vjp
def stereographic(x):
    if x.ndim != 2 or x.shape[1] != 2:
        raise ValueError("expected (N, 2)")
    n = (x * x).sum(1, keepdims=True)
    return jnp.concatenate([2 * x, n - 1], axis=1) / (1 + n)


def stereographic_fwd(x):
    return stereographic(x), x


def stereographic_bwd(x, g):
    n = (x * x).sum(1, keepdims=True)
    k = 1 + n
    dot = (g[:, :2] * x).sum(1, keepdims=True)
    return (2 * g[:, :2] / k - 2 * dot * x / k ** 2 + 4 * g[:, 2:] * x / k ** 2,)


stereographic.defvjp(stereographic_fwd, stereographic_bwd)
