//! What is done for each frame allocates nothing: frames are large, and there are many of them.

use weir_video::{FrameReader, FrameWriter, Next, PixelFormat, Repacker, TestPattern, VideoFormat};

fn allocations(frame: impl FnOnce()) -> u64 {
    allocation_counter::measure(frame).count_total
}

#[test]
fn frames_allocate_nothing() {
    for pixels in PixelFormat::ALL {
        let format: VideoFormat = format!("130x98@25:{pixels}").parse().unwrap();
        let mut frame = vec![0; format.frame_bytes()];
        let mut pattern = TestPattern::new(format).unwrap();
        pattern.render(0, &mut frame).unwrap();
        let rendering = allocations(|| pattern.render(u64::MAX, &mut frame).unwrap());
        assert_eq!(rendering, 0, "rendering {pixels}");
        for to in PixelFormat::ALL {
            let Ok(repacker) = Repacker::new(format, to) else {
                continue;
            };
            let mut output = vec![0; repacker.to().frame_bytes()];
            let repacking = allocations(|| repacker.run(&frame, &mut output).unwrap());
            assert_eq!(repacking, 0, "{pixels} to {to}");
        }
    }
}

#[test]
fn reading_and_writing_y4m_allocates_nothing_for_a_frame() {
    let format: VideoFormat = "64x64@25:yuv422p10le".parse().unwrap();
    let mut frame = vec![7; format.frame_bytes()];
    let mut writer = FrameWriter::y4m(Vec::with_capacity(1 << 16), format).unwrap();
    writer.write_frame(&frame).unwrap();
    assert_eq!(allocations(|| writer.write_frame(&frame).unwrap()), 0);
    let stream = writer.into_inner();
    let mut reader = FrameReader::open(&stream[..], None).unwrap();
    for _ in 0..2 {
        let reading = allocations(|| assert_eq!(reader.read_frame(&mut frame).unwrap(), Next::Frame));
        assert_eq!(reading, 0);
    }
}
