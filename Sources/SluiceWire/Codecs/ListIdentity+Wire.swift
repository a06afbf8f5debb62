package import SluiceModel

extension ListIdentity: WireCodable {
    /// The origins, then the runs: first id, first place, count, and the distance where there are several.
    package func encode(into writer: inout ByteWriter) {
        var places = PlaceWriter()
        places.body.varint(runs.count)
        for run in runs {
            places.add(run.firstID)
            places.add(run.firstPlace)
            places.body.varint(run.count)
            if run.count > 1 { places.body.zigzag(run.distance) }
        }
        places.finish(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        var places = try PlaceReader(from: &reader)
        let count = try reader.count(minimumSize: 6, weight: 3)
        var runs: [Run] = []
        runs.reserveCapacity(count)
        var total = 0
        for _ in 0..<count {
            let id = try places.id(from: &reader)
            let place = try places.place(from: &reader)
            let count = try reader.position()
            total += count
            guard count > 0, total <= Int32.max else { throw reader.malformed("a run of \(count) elements") }
            let distance = count > 1 ? try reader.zigzag() : 0
            runs.append(Run(firstID: id, firstPlace: place, distance: distance, count: count))
        }
        self.init(runs: runs)
    }
}
