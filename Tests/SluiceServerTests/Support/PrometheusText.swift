import Testing

/// Parses Prometheus' text format, version 0.0.4, strictly: what its collector takes and what its linter says.
struct PrometheusText {
    struct Failure: Error, CustomStringConvertible { let description: String }

    struct Family {
        var kind: String
        var help: String
        /// The values, by the name and labels as written.
        var values: [String: Double] = [:]
    }

    private(set) var families: [String: Family] = [:]

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Failure(description: "the last line has no end") }
        var current: String?
        var help: [String: String] = [:]
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            func fail(_ what: String) -> Failure { Failure(description: "\(what): '\(line)'") }
            if words[0] == "#" {
                guard words.count == 4, Self.isName(words[2]) else { throw fail("a comment is malformed") }
                switch words[1] {
                case "HELP":
                    guard help.updateValue(words[3], forKey: words[2]) == nil else { throw fail("a second help") }
                    guard words[3].hasSuffix(".") else { throw fail("the help is no sentence") }
                case "TYPE":
                    guard let text = help[words[2]], families[words[2]] == nil else { throw fail("no help before") }
                    guard ["counter", "gauge", "histogram"].contains(words[3]) else { throw fail("no such type") }
                    guard (words[3] == "counter") == words[2].hasSuffix("_total") else { throw fail("a wrong suffix") }
                    current = words[2]
                    families[words[2]] = Family(kind: words[3], help: text)
                default: throw fail("a comment is neither")
                }
                continue
            }
            guard let name = current, var family = families[name] else { throw fail("no family before") }
            let (key, value) = try Self.sample(String(line))
            let own = key.prefix { $0 != "{" }
            let suffixes = family.kind == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
            guard suffixes.contains(where: { own == name + $0 }) else { throw fail("it is of another family") }
            guard family.values.updateValue(value, forKey: key) == nil else { throw fail("a second value") }
            families[name] = family
        }
        for (name, family) in families where family.kind == "histogram" { try Self.check(family, name) }
        for (name, family) in families where family.values.isEmpty {
            throw Failure(description: "\(name) has no value")
        }
    }

    /// The value of a line, by its name and labels as written.
    subscript(key: String) -> Double? {
        families.values.lazy.compactMap { $0.values[key] }.first
    }

    private static func isName(_ text: String) -> Bool {
        text.first.map { $0.isLetter || $0 == "_" } ?? false
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") }
    }

    private static func sample(_ line: String) throws -> (String, Double) {
        var rest = Substring(line)
        let name = rest.prefix { $0 != "{" && $0 != " " }
        guard isName(String(name)) else { throw Failure(description: "no name: '\(line)'") }
        rest = rest[name.endIndex...]
        if rest.first == "{" {
            rest = rest.dropFirst()
            var names: Set<String> = []
            while rest.first != "}" {
                let label = rest.prefix { $0 != "=" }
                guard isName(String(label)), names.insert(String(label)).inserted else {
                    throw Failure(description: "no label: '\(line)'")
                }
                rest = rest[label.endIndex...].dropFirst()
                guard rest.first == "\"" else { throw Failure(description: "no value of a label: '\(line)'") }
                rest = rest.dropFirst()
                while let character = rest.first, character != "\"" {
                    rest = rest.dropFirst()
                    guard character == "\\" else { continue }
                    guard let escaped = rest.first, "\\\"n".contains(escaped) else {
                        throw Failure(description: "no escape: '\(line)'")
                    }
                    rest = rest.dropFirst()
                }
                guard rest.first == "\"" else { throw Failure(description: "a value does not end: '\(line)'") }
                rest = rest.dropFirst()
                if rest.first == "," { rest = rest.dropFirst() }
            }
            rest = rest.dropFirst()
        }
        guard rest.first == " ", let value = Double(rest.dropFirst()) else {
            throw Failure(description: "no number: '\(line)'")
        }
        return (String(line[..<rest.startIndex]), value)
    }

    /// The classes of each histogram ascend, and the last has all.
    private static func check(_ family: Family, _ name: String) throws {
        var classes: [String: [(bound: Double, count: Double)]] = [:]
        for (key, value) in family.values where key.hasPrefix(name + "_bucket") {
            guard let start = key.range(of: "le=\"") else { throw Failure(description: "\(key) has no bound") }
            let bound = key[start.upperBound...].prefix { $0 != "\"" }
            let others = key[key.index(key.startIndex, offsetBy: name.count + 7)..<start.lowerBound]
            classes[String(others), default: []].append((bound == "+Inf" ? .infinity : Double(bound) ?? .nan, value))
        }
        for (others, unordered) in classes {
            let ordered = unordered.sorted { $0.bound < $1.bound }
            let labels = others == "{" ? "" : others.dropLast() + "}"
            guard ordered.last?.bound == .infinity,
                zip(ordered, ordered.dropFirst()).allSatisfy({ $0.count <= $1.count }),
                ordered.last?.count == family.values["\(name)_count\(labels)"],
                family.values["\(name)_sum\(labels)"] != nil
            else { throw Failure(description: "\(name)\(labels) is no histogram") }
        }
    }
}

extension String {
    fileprivate func range(of text: String) -> Range<Index>? { firstRange(of: text) }
}
