//! Minimum of a function of a few parameters, and its sharpness. It must not know what the function is.

/// Passes of the simplex search.
const PASSES: usize = 400;
/// Parameters are pushed back beyond this size: as log odds, about 1e-7 and 1 - 1e-7.
pub(crate) const MOST_SIZE: f64 = 16.0;

/// Nelder and Mead's simplex search (1965): the place and the value of a minimum.
pub(crate) fn minimum(start: &[f64], cost: &dyn Fn(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let bounded = |point: &[f64]| {
        let beyond: f64 = point.iter().map(|x| (x.abs() - MOST_SIZE).max(0.0)).sum();
        let value = cost(point);
        if value.is_finite() { value + beyond } else { 1e300 }
    };
    let mut simplex: Vec<(Vec<f64>, f64)> = vec![(start.to_vec(), bounded(start))];
    for index in 0..start.len() {
        let mut point = start.to_vec();
        point[index] += 0.7;
        let value = bounded(&point);
        simplex.push((point, value));
    }
    for _ in 0..PASSES {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        let worst = simplex.len() - 1;
        if simplex[worst].1 - simplex[0].1 < 1e-9 * (1.0 + simplex[0].1.abs()) {
            break;
        }
        step(&mut simplex, &bounded);
    }
    simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
    simplex.swap_remove(0)
}

/// One pass over a sorted simplex.
fn step(simplex: &mut [(Vec<f64>, f64)], cost: &dyn Fn(&[f64]) -> f64) {
    let worst = simplex.len() - 1;
    let size = simplex[0].0.len();
    let centre: Vec<f64> = (0..size)
        .map(|i| simplex[..worst].iter().map(|point| point.0[i]).sum::<f64>() / worst as f64)
        .collect();
    let towards = |share: f64| {
        let point: Vec<f64> = (0..size)
            .map(|i| centre[i] + share * (simplex[worst].0[i] - centre[i]))
            .collect();
        let value = cost(&point);
        (point, value)
    };
    let mirrored = towards(-1.0);
    if mirrored.1 < simplex[0].1 {
        let further = towards(-2.0);
        simplex[worst] = if further.1 < mirrored.1 { further } else { mirrored };
        return;
    }
    if mirrored.1 < simplex[worst - 1].1 {
        simplex[worst] = mirrored;
        return;
    }
    let nearer = if mirrored.1 < simplex[worst].1 {
        towards(-0.5)
    } else {
        towards(0.5)
    };
    if nearer.1 < simplex[worst].1.min(mirrored.1) {
        simplex[worst] = nearer;
        return;
    }
    let best = simplex[0].0.clone();
    for point in &mut simplex[1..] {
        point.0 = point
            .0
            .iter()
            .zip(&best)
            .map(|(x, b)| b + 0.5 * (x - b))
            .collect();
        point.1 = cost(&point.0);
    }
}

/// Standard deviations of the parameters: the square roots of the diagonal of the inverse of the matrix of second
/// derivatives. A parameter that the data do not determine has an infinite one.
pub(crate) fn deviations(at: &[f64], cost: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-3;
    let size = at.len();
    let moved = |changes: &[(usize, f64)]| {
        let mut point = at.to_vec();
        for (index, change) in changes {
            point[*index] += change;
        }
        cost(&point)
    };
    let middle = cost(at);
    let second = |i: usize, j: usize| {
        if i == j {
            return (moved(&[(i, STEP)]) - 2.0 * middle + moved(&[(i, -STEP)])) / (STEP * STEP);
        }
        let mixed = moved(&[(i, STEP), (j, STEP)])
            - moved(&[(i, STEP), (j, -STEP)])
            - moved(&[(i, -STEP), (j, STEP)])
            + moved(&[(i, -STEP), (j, -STEP)]);
        mixed / (4.0 * STEP * STEP)
    };
    let mut matrix: Vec<Vec<f64>> = (0..size)
        .map(|i| (0..size).map(|j| second(i, j)).collect())
        .collect();
    // For an undetermined parameter, the others are computed as if it were known.
    let flat: Vec<bool> = (0..size)
        .map(|i| matrix[i][i].is_nan() || matrix[i][i] < 1e-3)
        .collect();
    for (i, row) in matrix.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            if flat[i] || flat[j] {
                *value = f64::from(i == j);
            }
        }
    }
    let variances = inverse_diagonal(matrix);
    (0..size)
        .map(|i| match variances.get(i) {
            Some(variance) if !flat[i] && *variance > 0.0 => variance.sqrt(),
            _ => f64::INFINITY,
        })
        .collect()
}

/// Diagonal of the inverse, by Gauss and Jordan with pivots; empty for a matrix without one.
fn inverse_diagonal(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let size = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|j| f64::from(i == j)));
    }
    for column in 0..size {
        let pivot =
            (column..size).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()));
        let Some(pivot) = pivot.filter(|row| matrix[*row][column].abs() > 1e-12) else {
            return Vec::new();
        };
        matrix.swap(column, pivot);
        let scale = matrix[column][column];
        matrix[column].iter_mut().for_each(|value| *value /= scale);
        let reference = matrix[column].clone();
        for (row, values) in matrix.iter_mut().enumerate() {
            let factor = values[column];
            if row != column && factor != 0.0 {
                values
                    .iter_mut()
                    .zip(&reference)
                    .for_each(|(value, by)| *value -= factor * by);
            }
        }
    }
    (0..size).map(|i| matrix[i][size + i]).collect()
}
