"""One object of each kind that an API server has by itself, with more than it needs: what is changed at random."""

from __future__ import annotations

from typing import Final

_POD: Final = """
    metadata: {labels: {app: x}, annotations: {note: a b}}
    spec:
      serviceAccountName: default
      terminationGracePeriodSeconds: 30
      priority: 0
      nodeSelector: {disk: ssd}
      hostAliases: [{ip: 10.0.0.1, hostnames: [a.example]}]
      securityContext: {runAsUser: 1, fsGroup: 2, supplementalGroups: [3], sysctls: [{name: net.ipv4.x, value: '1'}]}
      tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 5}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 1, podAffinityTerm: {topologyKey: host, labelSelector: {matchLabels: {app: x}}}}
      volumes:
      - {name: config, configMap: {name: c, defaultMode: 420, items: [{key: k, path: p}], optional: true}}
      - {name: scratch, emptyDir: {sizeLimit: 1Gi, medium: Memory}}
      - {name: host, hostPath: {path: /srv, type: Directory}}
      - name: all
        projected:
          sources:
          - {secret: {name: s}}
          - {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
          - {serviceAccountToken: {path: token, expirationSeconds: 3600}}
      initContainers: [{name: first, image: 'a:1', command: [sh], args: [-c, 'true'], restartPolicy: Always}]
      containers:
      - name: main
        image: registry.example/main:1
        env:
        - {name: A, value: b}
        - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
        - {name: C, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
        envFrom: [{prefix: P_, configMapRef: {name: c}}]
        ports: [{containerPort: 80, name: http, protocol: TCP}]
        resources: {requests: {cpu: 10m, memory: 1Mi}, limits: {cpu: 1, memory: 1Gi}}
        readinessProbe: {httpGet: {path: /, port: http, httpHeaders: [{name: X, value: y}]}, periodSeconds: 5}
        livenessProbe: {exec: {command: ['true']}, timeoutSeconds: 1}
        startupProbe: {tcpSocket: {port: 80}, failureThreshold: 3}
        lifecycle: {preStop: {sleep: {seconds: 1}}}
        securityContext:
          {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
        volumeMounts: [{name: config, mountPath: /etc/c, readOnly: true}]
"""
_RESTARTING: Final = _POD.replace("    spec:\n", "    spec:\n      restartPolicy: RESTART\n", 1)


def _template(kind: str) -> str:
    return _RESTARTING.replace("RESTART", kind)


_LABELLED: Final = "selector: {matchLabels: {app: x}, matchExpressions: [{key: app, operator: Exists}]}"

OBJECTS: Final = f"""
apiVersion: v1
kind: Pod
{_template("Always").replace(chr(10) + "    ", chr(10)).strip().replace("metadata: {", "metadata: {name: x, ", 1)}
---
apiVersion: v1
kind: PodTemplate
metadata: {{name: x}}
template: {_template("Always")}
---
apiVersion: v1
kind: ReplicationController
metadata: {{name: x}}
spec:
  replicas: 1
  minReadySeconds: 2
  selector: {{app: x}}
  template: {_template("Always")}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: x, namespace: default, labels: {{a: b}}, finalizers: [example.com/f]}}
spec:
  replicas: 2
  paused: false
  minReadySeconds: 5
  revisionHistoryLimit: 3
  progressDeadlineSeconds: 60
  strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 25%, maxUnavailable: 1}}}}
  {_LABELLED}
  template: {_template("Always")}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: x}}
spec:
  replicas: 1
  {_LABELLED}
  template: {_template("Always")}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: x}}
spec:
  updateStrategy: {{type: RollingUpdate, rollingUpdate: {{maxUnavailable: 10%}}}}
  {_LABELLED}
  template: {_template("Always")}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: x}}
spec:
  serviceName: x
  podManagementPolicy: Parallel
  ordinals: {{start: 1}}
  persistentVolumeClaimRetentionPolicy: {{whenDeleted: Delete, whenScaled: Retain}}
  updateStrategy: {{type: RollingUpdate, rollingUpdate: {{partition: 1}}}}
  {_LABELLED}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}, volumeMode: Filesystem}}
  template: {_template("Always")}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {{name: x}}
revision: 1
data: {{any: thing}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: x}}
spec:
  completions: 3
  parallelism: 2
  completionMode: Indexed
  backoffLimitPerIndex: 1
  maxFailedIndexes: 1
  activeDeadlineSeconds: 100
  ttlSecondsAfterFinished: 10
  podFailurePolicy: {{rules: [{{action: FailJob, onExitCodes: {{operator: In, values: [42]}}}}]}}
  template: {_template("Never")}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: x}}
spec:
  schedule: '*/5 * * * *'
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 10
  suspend: true
  successfulJobsHistoryLimit: 1
  jobTemplate:
    spec:
      backoffLimit: 2
      template:
        spec: {{restartPolicy: OnFailure, containers: [{{name: a, image: 'b:1'}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: x}}
spec:
  type: ClusterIP
  selector: {{app: x}}
  sessionAffinity: ClientIP
  sessionAffinityConfig: {{clientIP: {{timeoutSeconds: 100}}}}
  internalTrafficPolicy: Cluster
  ipFamilyPolicy: SingleStack
  ports:
  - {{name: http, port: 80, targetPort: http, protocol: TCP, appProtocol: http}}
  - {{name: other, port: 81, targetPort: 8081}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: x}}
immutable: false
data: {{a: b, c.d: "e\\nf"}}
binaryData: {{g: aGk=}}
---
apiVersion: v1
kind: Secret
metadata: {{name: x}}
type: Opaque
data: {{a: Yg==}}
stringData: {{c: d}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: x}}
automountServiceAccountToken: true
imagePullSecrets: [{{name: a}}]
secrets: [{{name: b}}]
---
apiVersion: v1
kind: Namespace
metadata: {{name: x, labels: {{a: b}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: x}}
spec:
  unschedulable: true
  podCIDR: 10.1.0.0/24
  taints: [{{key: a, value: b, effect: NoSchedule}}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: x}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: slow
  mountOptions: [ro]
  volumeMode: Filesystem
  csi: {{driver: a.example, volumeHandle: h, volumeAttributes: {{a: b}}, fsType: ext4}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: x}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: 1Gi}}}}
  storageClassName: slow
  selector: {{matchLabels: {{a: b}}}}
---
apiVersion: v1
kind: LimitRange
metadata: {{name: x}}
spec:
  limits:
  - {{type: Container, max: {{cpu: 2}}, min: {{cpu: 1m}}, default: {{cpu: 500m}}, defaultRequest: {{cpu: 100m}}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {{name: x}}
spec:
  hard: {{pods: 10, requests.cpu: '4'}}
  scopeSelector: {{matchExpressions: [{{scopeName: PriorityClass, operator: In, values: [high]}}]}}
---
apiVersion: v1
kind: Endpoints
metadata: {{name: x}}
subsets:
- addresses: [{{ip: 10.2.0.1, hostname: a}}]
  ports: [{{port: 80, name: http, protocol: TCP}}]
---
apiVersion: v1
kind: Event
metadata: {{name: x, namespace: default}}
involvedObject: {{kind: Pod, name: a, namespace: default}}
reason: Started
message: text
type: Normal
count: 1
firstTimestamp: '2024-01-01T00:00:00Z'
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: x}}
addressType: IPv4
endpoints:
- {{addresses: [10.2.0.1], conditions: {{ready: true}}, nodeName: n, zone: z, hints: {{forZones: [{{name: z}}]}}}}
ports: [{{name: http, port: 80, protocol: TCP}}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: x}}
spec:
  ingressClassName: nginx
  defaultBackend: {{service: {{name: a, port: {{number: 80}}}}}}
  tls: [{{hosts: [a.example], secretName: s}}]
  rules:
  - host: a.example
    http:
      paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: a, port: {{name: http}}}}}}}}]
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {{name: x}}
spec: {{controller: example.com/c, parameters: {{apiGroup: a.example, kind: K, name: n, scope: Cluster}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: x}}
spec:
  podSelector: {{matchLabels: {{app: x}}}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{{podSelector: {{}}}}, {{namespaceSelector: {{matchLabels: {{a: b}}}}}}]
    ports: [{{port: 80, protocol: TCP}}, {{port: http}}]
  egress: [{{to: [{{ipBlock: {{cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}}}], ports: [{{port: 1, endPort: 9}}]}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: x}}
spec:
  minAvailable: 50%
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector: {{matchLabels: {{app: x}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: x}}
spec:
  minReplicas: 1
  maxReplicas: 5
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: x}}
  metrics:
  - {{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 50}}}}}}
  - {{type: Pods, pods: {{metric: {{name: m}}, target: {{type: AverageValue, averageValue: 10}}}}}}
  behavior: {{scaleDown: {{stabilizationWindowSeconds: 60, policies: [{{type: Pods, value: 1, periodSeconds: 10}}]}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: x}}
rules: [{{apiGroups: [''], resources: [pods], verbs: [get], resourceNames: [a]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: x}}
aggregationRule: {{clusterRoleSelectors: [{{matchLabels: {{a: b}}}}]}}
rules: [{{nonResourceURLs: [/healthz], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: x}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}}
subjects:
- {{kind: ServiceAccount, name: b, namespace: c}}
- {{kind: User, name: d, apiGroup: rbac.authorization.k8s.io}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: x}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}}
subjects: [{{kind: Group, name: b, apiGroup: rbac.authorization.k8s.io}}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: x}}
value: 1000
globalDefault: false
preemptionPolicy: Never
description: text
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: x}}
provisioner: a.example/b
parameters: {{a: b}}
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
mountOptions: [ro]
allowedTopologies: [{{matchLabelExpressions: [{{key: zone, values: [a]}}]}}]
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {{name: x}}
spec: {{attachRequired: true, podInfoOnMount: false, fsGroupPolicy: File, volumeLifecycleModes: [Persistent]}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {{name: x}}
spec: {{drivers: [{{name: a.example, nodeID: n, topologyKeys: [zone], allocatable: {{count: 5}}}}]}}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {{name: x}}
spec: {{attacher: a.example, nodeName: n, source: {{persistentVolumeName: p}}}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: x}}
spec: {{holderIdentity: h, leaseDurationSeconds: 10, leaseTransitions: 1, renewTime: '2024-01-01T00:00:00.000000Z'}}
---
apiVersion: events.k8s.io/v1
kind: Event
metadata: {{name: x}}
eventTime: '2024-01-01T00:00:00.000000Z'
action: Run
reason: Ran
note: text
type: Normal
reportingController: example.com/c
reportingInstance: c-1
regarding: {{kind: Pod, name: a, namespace: default}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1.example.com}}
spec:
  group: example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {{name: a, namespace: b, port: 443}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: things.example.org}}
spec:
  group: example.org
  scope: Namespaced
  names: {{kind: Thing, plural: things, singular: thing, shortNames: [th]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{scale: {{specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}}}
    additionalPrinterColumns: [{{name: A, type: string, jsonPath: .spec.a}}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [a]
            properties:
              a: {{type: string, minLength: 1, pattern: '^a', default: ab}}
              replicas: {{type: integer, minimum: 0, maximum: 9}}
              either: {{x-kubernetes-int-or-string: true}}
              more: {{type: object, additionalProperties: {{type: number}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: x}}
webhooks:
- name: a.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  timeoutSeconds: 5
  clientConfig: {{service: {{name: a, namespace: b, path: /c, port: 443}}, caBundle: ''}}
  rules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced}}]
  matchConditions: [{{name: a, expression: 'true'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: x}}
spec:
  failurePolicy: Fail
  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}
  validations: [{{expression: 'true', message: text}}]
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {{name: x}}
handler: runc
overhead: {{podFixed: {{cpu: 10m}}}}
scheduling: {{nodeSelector: {{a: b}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: x}}
spec:
  priorityLevelConfiguration: {{name: global-default}}
  matchingPrecedence: 1000
  distinguisherMethod: {{type: ByUser}}
  rules:
  - subjects: [{{kind: User, user: {{name: a}}}}]
    resourceRules: [{{verbs: [get], apiGroups: [''], resources: [pods], namespaces: ['*']}}]
"""
