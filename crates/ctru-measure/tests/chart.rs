//! Checks what pictures of charts contain.

#![cfg(feature = "chart")]

use ctru_measure::chart::{self, Axis, Bar, Chart, Colour, Line, Scale};

fn axis(label: &str, scale: Scale) -> Axis {
    Axis { label: label.to_owned(), scale }
}

fn line(name: &str, dashed: bool, points: &[(f64, f64)]) -> Line {
    Line { name: name.to_owned(), colour: Colour::Blue, dashed, points: points.to_vec() }
}

fn lines() -> Chart {
    let lines = vec![
        line("encaps", false, &[(1.0, 300.0), (32.0, 9e3), (1024.0, 200e3)]),
        line("known <result>", true, &[(1.0, 5e3), (1024.0, 5e3)]),
        line("nothing", false, &[(0.0, 1.0), (1.0, f64::NAN)]),
    ];
    Chart {
        title: "Rates & batches\nn = 761".to_owned(),
        x: axis("operations per batch", Scale::Log),
        y: axis("operations per second", Scale::Log),
        lines,
        ..Chart::default()
    }
}

fn bars() -> Chart {
    let bar = |name: &str, value| Bar { name: name.to_owned(), colour: Colour::Green, value };
    Chart {
        title: "Sizes".to_owned(),
        x: axis("bytes of a ciphertext", Scale::Linear),
        bars: vec![bar("CTRU-Prime-761", 952.0), bar("ML-KEM-768", 1088.0)],
        ..Chart::default()
    }
}

#[test]
fn pictures_have_names_numbers_and_values() {
    let picture = chart::svg(&[lines(), bars()], 2);
    for text in [
        "<title>Rates &amp; batches; Sizes</title>",
        "\nknown &lt;result&gt;\n",
        "\nn = 761\n",
        "\noperations per batch\n",
        "\n1,000\n",
        "\nCTRU-Prime-761\n",
        "\n1,088\n",
    ] {
        assert!(picture.contains(text), "{text} in {picture}");
    }
    // A line without a value that its axes can show is left out.
    assert!(!picture.contains("nothing"), "{picture}");
    assert_eq!(picture, chart::svg(&[lines(), bars()], 2));
}

#[test]
fn a_chart_may_be_empty() {
    let picture = chart::svg(&[Chart::default()], 0);
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
    assert!(chart::svg(&[], 3).starts_with("<svg"));
}
