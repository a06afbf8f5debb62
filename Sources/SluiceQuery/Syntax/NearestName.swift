/// Finds the known name that a misspelt one most likely stands for, to ask "did you mean".
package enum NearestName {
    /// The name with the fewest edits, if they are few for its length; nil if no name is similar.
    package static func find(_ name: String, among names: some Sequence<String>) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        let written = Array(name.lowercased().utf8)
        var nearest: (name: String, distance: Int)?
        for candidate in names {
            let distance = distance(written, Array(candidate.lowercased().utf8))
            if distance < nearest?.distance ?? .max { nearest = (candidate, distance) }
        }
        guard let nearest, nearest.distance <= max(1, written.count / 3) else { return nil }
        return nearest.name
    }

    /// Levenshtein's edit distance, by one row of the table at a time.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (leftIndex, leftByte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = leftIndex + 1
            for (rightIndex, rightByte) in right.enumerated() {
                let substituted = diagonal + (leftByte == rightByte ? 0 : 1)
                diagonal = row[rightIndex + 1]
                row[rightIndex + 1] = min(substituted, diagonal + 1, row[rightIndex] + 1)
            }
        }
        return row[right.count]
    }
}
