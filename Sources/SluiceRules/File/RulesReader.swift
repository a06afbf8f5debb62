internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery

/// Reads a rules file. It goes on after each problem, so that all of them are reported together.
struct RulesReader {
    private let bytes: [UInt8]
    private(set) var places: JSONPlaces
    private var problems: [(byte: Int, place: String, message: String)] = []
    private var document = RulesDocument()

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        places = JSONPlaces([], isJSON: false)
    }

    /// - Returns: what the file says, and its canonical bytes.
    func read() throws(RulesError) -> (RulesDocument, [UInt8]) {
        var reader = self
        return try reader.readAll()
    }

    private mutating func readAll() throws(RulesError) -> (RulesDocument, [UInt8]) {
        guard bytes.count <= RulesLimits.byteCountMax else {
            throw RulesError([
                RulesProblem(
                    line: 1, column: 1, place: "",
                    message: "the file has \(bytes.count) bytes; the limit is \(RulesLimits.byteCountMax)")
            ])
        }
        let root: JSONValue
        do throws(JSONError) {
            root = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in try JSONParser.parse(bytes) }
        } catch {
            places = JSONPlaces(bytes, isJSON: false)
            report(at: error.position - 1, "", error.message)
            throw failure
        }
        places = JSONPlaces(bytes, isJSON: true)
        document.places = places
        readRoot(root)
        document.expandPermissionLists()
        problems += ReferenceCheck.problems(of: document)
        guard problems.isEmpty else { throw failure }
        return (document, CanonicalJSON.bytes(root))
    }

    private var failure: RulesError { RulesError.of(problems, in: places) }

    mutating func report(at byte: Int, _ place: String, _ message: String) {
        problems.append((byte, place, message))
    }

    // MARK: Structure

    /// Calls `body` with each member of an object; reports a value that is none.
    private mutating func members(
        of value: JSONValue, _ node: JSONPlaces.Node, _ path: String, _ what: String,
        _ body: (inout RulesReader, JSONValue.Member, _ name: Int, JSONPlaces.Node) -> Void
    ) {
        guard case .object(let members) = value else {
            return report(at: node.start, path, "expected \(what), found \(value.kindName)")
        }
        for (member, child) in zip(members, node.children) { body(&self, member, child.name, child.node) }
    }

    private mutating func unknown(_ name: String, at byte: Int, _ path: String, among known: [String]) {
        let nearest = NearestName.find(name, among: known).map { "did you mean '\($0)'?" }
        let list = known.joined(separator: ", ")
        report(at: byte, path, "there is no member '\(name.prefix(64))' here; \(nearest ?? "there are \(list)")")
    }

    private mutating func readRoot(_ root: JSONValue) {
        members(of: root, places.root, "", "an object with user, roles, database and classes") {
            reader, member, name, node in
            switch member.name {
            case "user": reader.readSets(member.value, node)
            case "roles": reader.readRoles(member.value, node)
            case "database": reader.readDatabase(member.value, node)
            case "classes": reader.readClasses(member.value, node)
            default: reader.unknown(member.name, at: name, "", among: ["user", "roles", "database", "classes"])
            }
        }
    }

    private static func join(_ path: String, _ name: String) -> String { path + "." + name.prefix(64) }

    /// Whether a name can follow `$user.`, `$role.` or `$client.` without quotes.
    private mutating func checkName(_ name: String, at byte: Int, _ path: String, refused: [String] = []) -> Bool {
        let bytes = Array(name.utf8)
        let isName =
            !bytes.isEmpty && bytes.count <= 64
            && bytes.allSatisfy {
                $0 == 0x5F
                    || $0 < 0x80 && (Character(Unicode.Scalar($0)).isLetter || Character(Unicode.Scalar($0)).isNumber)
            }
            && !Character(Unicode.Scalar(bytes[0])).isNumber
        guard isName else {
            report(
                at: byte, path,
                "'\(name.prefix(64))' is no name; a name has up to 64 letters, digits and '_', and begins with no digit"
            )
            return false
        }
        guard !refused.contains(name) else {
            report(at: byte, path, "'\(name)' has a meaning of its own; choose another name")
            return false
        }
        return true
    }

    /// Reports a name that no class, or no property, can have. Rules are about one of them each; there are no patterns.
    private mutating func check(name: String, of what: String, at byte: Int, _ path: String) {
        do { try ClassSchema.check(name: name, of: what) } catch {
            let advice = name == "*" ? "; name each \(what), since what no rule allows is denied" : ""
            report(at: byte, path, error.message + advice)
        }
    }

    private mutating func readSets(_ value: JSONValue, _ node: JSONPlaces.Node) {
        members(of: value, node, "user", "an object of names and queries") { reader, member, name, node in
            let path = Self.join("user", member.name)
            guard reader.checkName(member.name, at: name, path, refused: ["id", "claims"]) else { return }
            guard reader.document.sets.count < RulesLimits.setCountMax else {
                return reader.report(at: name, path, "there are more than \(RulesLimits.setCountMax) derived sets")
            }
            guard let query = reader.query(member.value, node, path) else { return }
            reader.document.sets.append((member.name, query))
        }
    }

    private mutating func readRoles(_ value: JSONValue, _ node: JSONPlaces.Node) {
        members(of: value, node, "roles", "an object of names and conditions") { reader, member, name, node in
            let path = Self.join("roles", member.name)
            guard reader.checkName(member.name, at: name, path) else { return }
            guard reader.document.roles.count < RulesLimits.roleCountMax else {
                return reader.report(at: name, path, "there are more than \(RulesLimits.roleCountMax) roles")
            }
            guard let condition = reader.userCondition(member.value, node, path) else { return }
            reader.document.roles.append((member.name, condition))
        }
    }

    private mutating func readDatabase(_ value: JSONValue, _ node: JSONPlaces.Node) {
        members(of: value, node, "database", "an object with schema and reports") { reader, member, name, node in
            let path = Self.join("database", member.name)
            if member.name == "permissionLists" {
                if reader.flag(member.value, node, path) {
                    reader.document.databaseLists = FilePlace(path: path, start: name)
                }
                return
            }
            guard let right = DatabaseRight(rawValue: member.name) else {
                return reader.unknown(
                    member.name, at: name, "database",
                    among: DatabaseRight.allCases.map(\.rawValue) + ["permissionLists"])
            }
            if let condition = reader.userCondition(member.value, node, path) {
                reader.document.database[right] = condition
            }
        }
    }

    private mutating func readClasses(_ value: JSONValue, _ node: JSONPlaces.Node) {
        members(of: value, node, "classes", "an object of class names and rules") { reader, member, name, node in
            guard reader.document.classes.count < RulesLimits.classCountMax else {
                return reader.report(
                    at: name, "classes", "there are rules for more than \(RulesLimits.classCountMax) classes")
            }
            let path = Self.join("classes", member.name)
            reader.check(name: member.name, of: "class", at: name, path)
            let rules = reader.classRules(member.value, node, FilePlace(path: path, start: name), member.name)
            reader.document.classes.append((member.name, rules))
        }
    }

    private static let classMembers =
        RuleAction.allCases.map(\.rawValue) + ["fields", "hideIdentity", "transitive", "permissionLists"]

    private mutating func classRules(
        _ value: JSONValue, _ node: JSONPlaces.Node, _ place: FilePlace, _ className: String
    ) -> WrittenClass {
        var rules = WrittenClass(place: place)
        members(of: value, node, place.path, "an object with read, create, update, delete and others") {
            reader, member, name, node in
            let path = Self.join(place.path, member.name)
            switch member.name {
            case "fields": rules.fields = reader.fields(member.value, node, path, className)
            case "hideIdentity": rules.hidesIdentity = reader.flag(member.value, node, path)
            case "transitive": rules.isTransitive = reader.flag(member.value, node, path)
            case "permissionLists":
                rules.lists = reader.lists(member.value, node, FilePlace(path: path, start: name))
            default:
                guard let action = RuleAction(rawValue: member.name) else {
                    return reader.unknown(member.name, at: name, place.path, among: Self.classMembers)
                }
                rules.rules[action] = reader.rule(member.value, node, path, className, action)
            }
        }
        if rules.rules[.updateAfter] != nil, rules.rules[.update] == nil {
            report(at: place.start, place.path, "updateAfter is nothing without update, which is denied when missing")
        }
        if let lists = rules.lists, let action = RuleAction.allCases.first(where: { rules.rules[$0] != nil }) {
            report(
                at: lists.place.start, lists.place.path,
                "the permission lists say what is allowed; leave '\(action.rawValue)' out")
        }
        return rules
    }

    private mutating func lists(
        _ value: JSONValue, _ node: JSONPlaces.Node, _ place: FilePlace
    ) -> PermissionLists? {
        switch value {
        case .bool(true): return PermissionLists(property: nil, place: place)
        case .bool(false): return nil
        case .string(let property): return PermissionLists(property: property, place: place)
        default:
            report(
                at: node.start, place.path,
                "expected the property with the list of each object, or true if only the class has one, found "
                    + value.kindName)
            return nil
        }
    }

    private mutating func fields(
        _ value: JSONValue, _ node: JSONPlaces.Node, _ path: String, _ className: String
    ) -> [(name: String, rules: WrittenField)] {
        var fields: [(name: String, rules: WrittenField)] = []
        members(of: value, node, path, "an object of property names and rules") { reader, member, name, node in
            let path = Self.join(path, member.name)
            reader.check(name: member.name, of: "property", at: name, path)
            var field = WrittenField(place: FilePlace(path: path, start: name))
            reader.members(of: member.value, node, path, "an object with read and write") {
                reader, rule, name, node in
                let own = Self.join(path, rule.name)
                switch rule.name {
                case "read": field.read = reader.userCondition(rule.value, node, own)
                case "write": field.write = reader.rule(rule.value, node, own, className, .update)
                default: reader.unknown(rule.name, at: name, path, among: ["read", "write"])
                }
            }
            fields.append((member.name, field))
        }
        return fields
    }

    private mutating func flag(_ value: JSONValue, _ node: JSONPlaces.Node, _ path: String) -> Bool {
        guard case .bool(let isSet) = value else {
            report(at: node.start, path, "expected true or false, found \(value.kindName)")
            return false
        }
        return isSet
    }
}
