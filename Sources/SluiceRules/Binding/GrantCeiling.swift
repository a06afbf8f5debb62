package import SluiceModel
package import SluiceQuery

/// Where permission lists are in a schema.
struct PermissionListLayout: Sendable {
    /// A property that is a list of permissions.
    struct Holder: Sendable {
        let classIndex: Int
        let property: Int
        /// Nil for a class whose objects stand for the lists of other classes.
        let level: PermissionLevel?
    }

    let permissionClass: Int
    let role: Int
    let flags: [(flag: PermissionFlag, property: Int)]
    let holders: [Holder]

    /// - Returns: nil if no class of the schema has lists.
    init?(_ document: RulesDocument, schema: Schema) {
        guard document.classes.contains(where: { $0.rules.lists != nil }),
            let permissionClass = schema.index(of: PermissionList.className),
            let role = schema[permissionClass].index(of: "role")
        else { return nil }
        self.permissionClass = permissionClass
        self.role = role
        flags = PermissionFlag.allCases.compactMap { flag in
            schema[permissionClass].index(of: flag.rawValue).map { (flag, $0) }
        }
        func holder(_ className: String, _ property: String, _ level: PermissionLevel?) -> Holder? {
            guard let classIndex = schema.index(of: className),
                let position = schema[classIndex].index(of: property),
                schema[classIndex].properties[position].type.targetClass == PermissionList.className
            else { return nil }
            return Holder(classIndex: classIndex, property: position, level: level)
        }
        holders =
            document.classes.compactMap { name, rules in
                rules.lists?.property.flatMap { holder(name, $0, .object) }
            }
            + [
                holder(PermissionList.classOfClasses, PermissionList.property, nil),
                document.databaseLists == nil
                    ? nil : holder(PermissionList.classOfDatabase, PermissionList.property, .database),
            ].compactMap { $0 }
    }
}

/// Judges changes of permission lists: who changes a list needs `canSetPermissions`, and nobody grants what he has not.
///
/// Authority comes from the state before the transaction. A list that becomes empty gives everything to everybody, so
/// emptying it needs everything. A permission that several lists hold is judged for each of them. The role of a
/// permission never changes.
struct GrantCeiling {
    let binding: Binding
    let layout: PermissionListLayout
    let before: any ObjectSource
    /// The object after the transaction; nil if there is none.
    let after: (ObjectRef) throws -> Row?

    /// The first object of which the transaction changes who may do what, without the right to.
    func refused(_ changes: [ChangedObject]) throws -> ObjectRef? {
        for change in changes {
            if change.object.classIndex == layout.permissionClass, try !allowsPermission(change) {
                return change.object
            }
            for holder in layout.holders where holder.classIndex == change.object.classIndex {
                if try !allowsList(of: holder, change) { return change.object }
            }
        }
        return nil
    }

    private func permissions(_ row: Row?, _ holder: PermissionListLayout.Holder) -> Set<ObjectKey> {
        var keys: Set<ObjectKey> = []
        row?.values[holder.property].forEachLink { keys.insert($0) }
        return keys
    }

    private func flags(_ row: Row?) -> Set<PermissionFlag> {
        guard let row else { return [] }
        return Set(layout.flags.filter { row.values[$0.property] == .bool(true) }.map(\.flag))
    }

    private func reference(_ key: ObjectKey) -> ObjectRef { ObjectRef(layout.permissionClass, key) }

    // MARK: What changes

    private func allowsList(of holder: PermissionListLayout.Holder, _ change: ChangedObject) throws -> Bool {
        let (old, new) = (permissions(change.old, holder), permissions(change.new, holder))
        // An object that goes takes its list with it; the list of a class or the database then gives everything.
        if change.new == nil, holder.level == .object { return true }
        guard old != new else { return true }
        var needed: Set<PermissionFlag> = [.canSetPermissions]
        for key in new.subtracting(old) { needed.formUnion(flags(try after(reference(key)))) }
        if try isEmptied(old, new) { needed.formUnion(PermissionFlag.allCases) }
        return try has(needed, of: change.object, holder, old: change.old, new: change.new)
    }

    private func allowsPermission(_ change: ChangedObject) throws -> Bool {
        let (old, new) = (flags(change.old), flags(change.new))
        var gained = new.subtracting(old)
        if let before = change.old, let after = change.new,
            before.values[layout.role] != after.values[layout.role]
        {
            guard before.values[layout.role] == .null else { return false }
            gained = new
        }
        guard old != new || !gained.isEmpty || change.new == nil || change.old == nil else { return true }
        for holder in layout.holders {
            var holders: [ObjectKey] = []
            try before.backlinks(to: change.object, fromClass: holder.classIndex, property: holder.property) {
                holders.append($0)
                return true
            }
            for key in holders {
                let object = ObjectRef(holder.classIndex, key)
                let now = try after(object)
                let kept = permissions(now, holder)
                // Who takes it from the list is judged by that change.
                guard let now, kept.contains(change.object.key) else { continue }
                var needed = gained.union([.canSetPermissions])
                let former = try before.row(object)
                if change.new == nil, try isEmptied(permissions(former, holder), kept) {
                    needed.formUnion(PermissionFlag.allCases)
                }
                guard try has(needed, of: object, holder, old: former, new: now) else { return false }
            }
        }
        return true
    }

    /// Whether a list had a permission and has none any more.
    private func isEmptied(_ old: Set<ObjectKey>, _ new: Set<ObjectKey>) throws -> Bool {
        try old.contains { try before.isPresent(reference($0)) }
            && !new.contains { try after(reference($0)) != nil }
    }

    // MARK: Authority

    private func has(
        _ needed: Set<PermissionFlag>, of object: ObjectRef, _ holder: PermissionListLayout.Holder, old: Row?, new: Row?
    ) throws -> Bool {
        switch holder.level {
        case .object:
            guard let row = old ?? new.map({ withoutList($0, holder) }) else { return false }
            for flag in needed.intersection(PermissionLevel.object.flags) {
                guard let condition = binding.grants(flag, ofClass: object.classIndex),
                    try condition.allows(row, in: before)
                else { return false }
            }
            return true
        case .database: return hasRoles(needed, .database)
        case .ofClass(let name): return hasRoles(needed, .ofClass(name))
        case nil:
            guard case .string(let name) = object.key else { return false }
            return hasRoles(needed, .ofClass(name))
        }
    }

    private func hasRoles(_ needed: Set<PermissionFlag>, _ level: PermissionLevel) -> Bool {
        needed.intersection(level.flags).allSatisfy { binding.roles.contains(level.role($0)) }
    }

    /// The object as it would be with an empty list: what its creator may give of it.
    private func withoutList(_ row: Row, _ holder: PermissionListLayout.Holder) -> Row {
        var row = row
        row.values[holder.property] = binding.reads.schema[holder.classIndex].defaultValues[holder.property]
        return row
    }
}

extension Binding {
    /// Whether a class has permission lists, so that changes of them have to be judged.
    package var hasPermissionLists: Bool { lists != nil }

    /// The first object of which a transaction changes who may do what, without the right to.
    ///
    /// - Parameters:
    ///   - before: the objects as they were before the transaction.
    ///   - after: an object as it is after it; nil if there is none.
    /// - Complexity: linear in the changed lists, and for a changed permission in the lists that hold it.
    package func refusedGrant(
        _ changes: [ChangedObject], before: any ObjectSource, after: (ObjectRef) throws -> Row?
    ) throws -> ObjectRef? {
        guard let lists else { return nil }
        return try withoutActuallyEscaping(after) { after in
            try GrantCeiling(binding: self, layout: lists, before: before, after: after).refused(changes)
        }
    }
}
