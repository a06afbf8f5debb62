import SluiceModel
import SluiceStorage

/// Files of backups and segments of archives, which anybody may have put where they are read.
enum BackupTarget {
    static func run(_ bytes: [UInt8]) {
        guard let reader = try? BackupReader(StoredArray(bytes)) else { return }
        for (index, member) in reader.manifest.members.enumerated() {
            var count = 0
            let isWhole: Bool
            do {
                try reader.unpack(index) { count += $0.count }
                isWhole = true
            } catch { isWhole = false }
            precondition(count <= member.byteCount, "more came out than the manifest says")
            precondition(!isWhole || count == member.byteCount)
        }
    }

    static func runSegment(_ bytes: [UInt8]) {
        let source = StoredArray(bytes)
        guard var scan = try? SegmentScan(source, checksBytes: true) else { return }
        precondition(scan.header.bytes == Array(bytes.prefix(scan.header.bytes.count)))
        var last = scan.last
        var place = scan.place
        while let entry = try? scan.next() {
            precondition(entry.group.head.position == last.head.position + 1)
            guard let record = try? scan.record(entry) else {
                preconditionFailure("a group that was found is not there")
            }
            precondition(last.head.following(record.bytes) == record.head)
            precondition(scan.place > place && scan.place <= bytes.count)
            (last, place) = (entry.group, scan.place)
        }
        precondition(scan.ending != nil, "a segment of bytes has an end")
        precondition((scan.ending == .whole) == (place == bytes.count))
        // Without the bytes of the groups as many are found, or more.
        guard var quick = try? SegmentScan(source, checksBytes: false) else { return }
        try? quick.finish()
        precondition(quick.place >= place)
    }
}
