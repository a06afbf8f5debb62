extension ServerLimits: WireCodable {
    /// A count of pairs, then code and limit of each.
    package func encode(into writer: inout ByteWriter) {
        let pairs: [(code: UInt64, limit: UInt64)] = [
            (1, frameLengthMax), (2, expandedLengthMax), (3, sessionCountMax), (4, subscriptionCountMax),
            (5, operationCountMax), (6, pageCreditMax), (7, idleTimeoutMilliseconds),
        ]
        writer.array(pairs) {
            $0.varint($1.code)
            $0.varint($1.limit)
        }
    }

    /// Codes that this version does not know are skipped; limits that are missing are the standard ones.
    package init(from reader: inout ByteReader) throws(WireError) {
        self.init()
        for _ in 0..<(try reader.count(minimumSize: 2)) {
            let code = try reader.varint()
            let limit = try reader.varint()
            switch code {
            case 1: frameLengthMax = limit
            case 2: expandedLengthMax = limit
            case 3: sessionCountMax = limit
            case 4: subscriptionCountMax = limit
            case 5: operationCountMax = limit
            case 6: pageCreditMax = limit
            case 7: idleTimeoutMilliseconds = limit
            default: break
            }
        }
    }
}
