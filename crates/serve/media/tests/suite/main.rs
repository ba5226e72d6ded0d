//! Media formats against ffmpeg, ffprobe, the Shaka packager and other parsers.

#![allow(clippy::unwrap_used)]

mod cmcd;
mod encrypted;
mod encryption_against_ffmpeg;
mod encryption_against_packager;
mod index_against_ffprobe;
mod manifests_against_ffmpeg;
mod padded_against_ffmpeg;
mod segments_against_ffmpeg;
mod sources;
mod webvtt_against_ffmpeg;
